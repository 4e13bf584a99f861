"""Time limits of connections: real time, and lab time while programs live on it.

On a virtual clock an hour of such a program takes a moment, or longer on a busy machine: by real time, the same program
would be cut off in one run and not in the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from labkit.context import Context
from labkit.labtime.activity import Activity
from labkit.labtime.inputs import TURNS


class CallLimit(Protocol):
    """Interface of a call that will be made after some time."""

    def cancel(self) -> None:
        """Do not make the call."""


def call_after(
    context: Context, seconds: float, call: Callable[[], object], *, own: bool = False
) -> CallLimit:
    """Call a function once this time has passed. own: the client is the lab itself, or of its process."""
    clock = context.clock
    if own or clock.rate or not context.activity.shared:
        return asyncio.get_running_loop().call_later(seconds, call)
    return clock.call_at(clock.now() + seconds, partial(call_within_work, context.activity, call))


@contextmanager
def limited(context: Context, seconds: float, call: Callable[[], object]) -> Iterator[None]:
    """Limit the time of the body: call a function if it takes longer."""
    limit = call_after(context, seconds, call)
    try:
        yield
    finally:
        limit.cancel()


def call_within_work(activity: Activity, call: Callable[[], object]) -> None:
    """Call a function that ends a connection; lab time stands still until the client can see the end."""
    activity.begin()
    call()
    _end_work(activity, TURNS)


def _end_work(activity: Activity, turns: int) -> None:
    if turns:
        asyncio.get_running_loop().call_soon(_end_work, activity, turns - 1)
    else:
        activity.end()
