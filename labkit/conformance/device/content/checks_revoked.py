"""Downloads that are interrupted because the device's access or the content changes before all was sent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from labkit.conformance import expect, raw
from labkit.conformance.check import check
from labkit.conformance.endpoints import DOWNLOAD
from labkit.conformance.target import Target
from labkit.core.errors import LabError

if TYPE_CHECKING:
    from labkit.lab.product import Product

SIZE = 16 * 2**20  # bytes, more than the buffers at both ends of a connection
SOME = 2**16


@check(
    "DEV-CONT-22",
    "a download breaks off if its device is locked, removed or given another token",
    needs={"settings"},
)
async def revoked(target: Target) -> None:
    id = target.identity()
    product: Product = await target.in_lab(target.lab.product, id, resources={"text": "string"})
    await target.in_lab(product.content.add, "large", bytes(SIZE))
    try:
        for name, change in (
            ("lock", partial(product.lock, "lock")),
            ("remove", partial(product.remove, "remove")),
            ("other token", partial(product.allow, "other token", token="y" * 40)),
        ):
            token = name.ljust(40, "x")
            await target.in_lab(product.allow, name, token=token)
            came = await _downloaded(target, product, token, change)
            expect.true(f"it breaks off: {name}", SOME <= came < SIZE, came)
    finally:
        await target.in_lab(product.content.remove, "large")


@check("DEV-CONT-23", "a download breaks off if its content is replaced or removed", needs={"settings"})
async def changed_meanwhile(target: Target) -> None:
    id = target.identity()
    product: Product = await target.in_lab(target.lab.product, id, resources={"text": "string"})
    content = product.content
    token = "t" * 40
    await target.in_lab(product.allow, "device", token=token)
    try:
        for name, change in (
            ("replaced", partial(content.add, "large", b"\x01" * SIZE)),
            ("removed", partial(content.remove, "large")),
            ("nothing", partial(len, content)),
        ):
            await target.in_lab(content.add, "large", bytes(SIZE))
            came = await _downloaded(target, product, token, change)
            expect.true(f"it breaks off: {name}", (SOME <= came < SIZE) == (name != "nothing"), came)
    finally:
        with suppress(LabError):  # it is removed already
            await target.in_lab(content.remove, "large")


async def _downloaded(target: Target, product: Product, token: str, change: Callable[[], object]) -> int:
    """Return the number of bytes of a download received; the change is made after the first SOME of them."""
    head = f"GET {DOWNLOAD}?id=large HTTP/1.1\r\nHost: {product.domain}\r\nX-Platform-CIK: {token}\r\n"
    async with raw.connect(target, product.domain) as connection:
        connection.send(f"{head}Connection: close\r\n\r\n")
        count = 0
        while count < SOME and (piece := await connection.more()):
            count += len(piece)
        await target.in_lab(change)
        while piece := await connection.more():
            count += len(piece)
    return count
