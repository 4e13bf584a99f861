"""Downloads of devices that are no longer let in before all of it was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance import expect, raw
from labkit.conformance.check import check
from labkit.conformance.endpoints import DOWNLOAD
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.lab.product import Product

SIZE = 16 * 2**20  # bytes, more than what the two ends of a connection hold for each other
SOME = 2**16


@check("DEV-CONT-22", "a download whose device is locked, removed or given another token", needs={"settings"})
async def revoked(target: Target) -> None:
    id = target.identity()
    product: Product = await target.in_lab(target.lab.product, id, resources={"text": "string"})
    await target.in_lab(product.content.add, "large", bytes(SIZE))
    try:
        for name in ("lock", "remove", "other token"):
            token = name.ljust(40, "x")
            await target.in_lab(product.allow, name, token=token)
            came = await _downloaded(target, product, name, token)
            expect.true(f"it breaks off: {name}", SOME <= came < SIZE, came)
    finally:
        await target.in_lab(product.content.remove, "large")


async def _downloaded(target: Target, product: Product, name: str, token: str) -> int:
    """How many bytes come of a download, of which something happens to the device after the first."""
    head = f"GET {DOWNLOAD}?id=large HTTP/1.1\r\nHost: {product.domain}\r\nX-Platform-CIK: {token}\r\n"
    async with raw.connect(target, product.domain) as connection:
        connection.send(f"{head}Connection: close\r\n\r\n")
        count = 0
        while count < SOME:
            count += len(await connection.more())
        if name == "lock":
            await target.in_lab(product.lock, name)
        elif name == "remove":
            await target.in_lab(product.remove, name)
        else:
            await target.in_lab(product.allow, name, token=name.ljust(40, "y"))
        while piece := await connection.more():
            count += len(piece)
    return count
