"""Concurrent requests, begun in a chosen order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

ORDERS = (False, True)


async def at_once(*works: Callable[[], Awaitable[Any]], turned: bool = False) -> list[Any]:
    """Run coroutine functions concurrently and return their results in the order given.

    turned: begin the last one first. Raises the first exception.
    """
    order = list(range(len(works)))
    if turned:
        order.reverse()
    tasks = {at: asyncio.ensure_future(works[at]()) for at in order}
    await asyncio.gather(*tasks.values())
    return [tasks[at].result() for at in range(len(works))]
