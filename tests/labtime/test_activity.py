"""Activity: waiting until no work is pending."""

from __future__ import annotations

import asyncio

import pytest

from labkit.labtime.activity import Activity
from tests.guard import PATIENCE


async def test_idle_returns_at_once_when_no_work_is_pending() -> None:
    async with asyncio.timeout(PATIENCE):
        await Activity().idle()


async def test_idle_waits_for_all_pieces_of_work() -> None:
    activity = Activity()
    first, second = activity, activity
    first.begin()
    second.begin()
    idle = asyncio.ensure_future(activity.idle())
    await asyncio.sleep(0.001)
    first.end()
    await asyncio.sleep(0.001)
    assert (idle.done(), activity.running) == (False, 1)
    second.end()
    async with asyncio.timeout(PATIENCE):
        await idle


async def test_idle_waits_for_work_that_ended_work_started() -> None:
    activity = Activity()
    done: list[int] = []

    async def work(left: int) -> None:
        await asyncio.sleep(0)
        done.append(left)
        if left:
            activity.begin()
            loop.call_soon(start, left - 1)
        activity.end()

    def start(left: int) -> None:
        tasks.append(loop.create_task(work(left)))

    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[None]] = []
    activity.begin()
    start(5)
    await activity.idle()
    assert done == [5, 4, 3, 2, 1, 0]


async def test_work_that_raises_has_ended() -> None:
    activity = Activity()
    with pytest.raises(KeyError), activity:
        raise KeyError
    assert activity.running == 0


async def test_a_cancelled_waiter_does_not_affect_other_waiters() -> None:
    activity = Activity()
    activity.begin()
    waiting = [asyncio.ensure_future(activity.idle()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    activity.end()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*waiting[1:])


async def test_idle_returns_if_a_delay_is_released_after_its_work_has_ended() -> None:
    """As in a crash: a delayed handler ends first, and its delay is released only then."""
    activity = Activity()
    activity.begin()
    activity.end()  # it is delayed
    activity.end()  # it ends
    idle = asyncio.ensure_future(activity.idle())
    await asyncio.sleep(0)
    assert not idle.done()
    activity.begin()  # its delay is released
    async with asyncio.timeout(PATIENCE):
        await idle
