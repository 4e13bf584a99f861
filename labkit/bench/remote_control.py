"""Cost of a control operation over HTTP, beside the same request to a bare aiohttp handler; client and server together.

`in_process` is the operation as a coroutine in the lab's process, without HTTP around it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from aiohttp import ClientSession, web

from labkit.bench.control import BenchError
from labkit.bench.variant import Variant, in_turn
from labkit.control.control import Control
from labkit.control.over_http.client import ControlClient
from labkit.control.over_http.listener import control_listener
from labkit.control.over_http.remote import RemoteControl
from labkit.platform import Platform
from labkit.settings import ControlSettings, LabSettings, ProductSettings

PRODUCT = "bench"
RESOURCES = {"text": {"format": "string"}, "number": {"format": "number"}}

Variants = dict[str, Variant]


async def get_product(stack: AsyncExitStack, size: int) -> Variants:
    """Measure the operation products.get, which returns the settings of a product."""
    product = ProductSettings.model_validate({"id": PRODUCT, "resources": RESOURCES})
    platform = await stack.enter_async_context(Platform(LabSettings(https_port=0, products=(product,))))
    address = await stack.enter_async_context(control_listener(platform, ControlSettings(port=0)))
    client = ControlClient(address.url, address.token)
    stack.push_async_callback(client.close)
    remote, near = RemoteControl(client), Control(platform)
    body = (await near.products.get(PRODUCT)).model_dump_json().encode()
    session = await stack.enter_async_context(ClientSession())
    url = await _bare(stack, body)

    async def over_http(id: str) -> None:
        _same((await remote.products.get(id)).id)

    async def in_process(id: str) -> None:
        _same((await near.products.get(id)).id)

    async def least(id: str) -> None:
        async with session.post(url, data=b'{"id":"%s"}' % id.encode()) as answer:
            if await answer.read() != body:
                raise BenchError("the bare handler gave another answer")

    return {
        "lab": in_turn([PRODUCT], over_http),
        "baseline": in_turn([PRODUCT], least),
        "in_process": in_turn([PRODUCT], in_process),
    }


async def _bare(stack: AsyncExitStack, body: bytes) -> str:
    """Start a bare handler that answers every request with this body, and return its URL."""

    async def answer(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(body=body, content_type="application/json")

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    _, port, *_ = runner.addresses[0]
    return f"http://127.0.0.1:{port}/"


def _same(id: str) -> None:
    if id != PRODUCT:
        raise BenchError(f"expected the product {PRODUCT!r}, not {id!r}")


VARIANTS: dict[str, Callable[[AsyncExitStack, int], Awaitable[Variants]]] = {"control-call": get_product}
