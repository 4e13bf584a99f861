"""Activity: who waits until nothing goes on."""

from __future__ import annotations

import asyncio

import pytest

from labkit.core.activity import Activity


async def test_idle_returns_at_once_when_nothing_goes_on() -> None:
    async with asyncio.timeout(5):
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
    async with asyncio.timeout(5):
        await idle


async def test_idle_waits_for_work_that_finished_work_causes() -> None:
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


async def test_work_that_raises_is_over_too() -> None:
    activity = Activity()
    with pytest.raises(KeyError), activity:
        raise KeyError
    assert activity.running == 0


async def test_one_who_stops_waiting_does_not_keep_the_others_from_it() -> None:
    activity = Activity()
    activity.begin()
    waiting = [asyncio.ensure_future(activity.idle()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    activity.end()
    async with asyncio.timeout(5):
        await asyncio.gather(*waiting[1:])


async def test_idle_returns_also_where_what_is_held_goes_on_after_the_end_of_who_waited_for_it() -> None:
    """As in a crash: a handler that is held ends, and is held no more only then."""
    activity = Activity()
    activity.begin()
    activity.end()  # it is held
    activity.end()  # it ends
    idle = asyncio.ensure_future(activity.idle())
    await asyncio.sleep(0)
    assert not idle.done()
    activity.begin()  # it is held no more
    async with asyncio.timeout(5):
        await idle
