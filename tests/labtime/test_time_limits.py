"""A limit that starts its timer at the first wait behaves as one that runs from the start."""

from __future__ import annotations

import asyncio
import time

import pytest

from labkit.labtime import time_limits
from labkit.labtime.time_limits import TimeLimit

LONG, SHORT = 60.0, 0.01  # seconds


async def forever() -> None:
    await asyncio.Event().wait()


async def test_work_returns_its_result_with_and_without_a_wait() -> None:
    async def at_once() -> str:
        return "at once"

    async def later() -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return "later"

    assert await TimeLimit(LONG).run(at_once()) == "at once"
    assert await TimeLimit(LONG).run(later()) == "later"
    assert time_limits.current() is None


async def test_work_is_cancelled_once_its_time_is_over() -> None:
    seen: list[type[BaseException]] = []

    async def work() -> None:
        try:
            await forever()
        except BaseException as error:
            seen.append(type(error))
            raise

    limit = TimeLimit(SHORT)
    with pytest.raises(TimeoutError):
        await limit.run(work())
    assert (limit.over, limit.expired, seen) == (True, True, [asyncio.CancelledError])


async def test_the_time_before_the_first_wait_counts() -> None:
    async def work() -> None:
        began = time.perf_counter()
        while time.perf_counter() - began < 2 * SHORT:
            pass  # blocks the loop
        await forever()

    limit = TimeLimit(SHORT)
    with pytest.raises(TimeoutError):
        await limit.run(work())
    assert limit.over


async def test_an_error_and_a_cancellation_of_the_caller_pass_through() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        await TimeLimit(LONG).run(fails())
    limit = TimeLimit(LONG)
    task = asyncio.create_task(limit.run(forever()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not limit.expired


async def test_work_may_catch_what_its_awaited_future_raises() -> None:
    async def work() -> str:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_exception, KeyError("k"))
        try:
            await future
        except KeyError:
            await asyncio.sleep(0)
            return "caught"
        return "not raised"

    assert await TimeLimit(LONG).run(work()) == "caught"


@pytest.mark.parametrize("waits_before", [False, True])
async def test_a_paused_limit_does_not_end_its_work(waits_before: bool) -> None:
    """Also where the pause begins in the first step, before there is a timer."""
    passed = asyncio.Event()

    async def work() -> str:
        if waits_before:
            await asyncio.sleep(0)
        with time_limits.paused():
            await passed.wait()
        return "done"

    async def within() -> str:
        return await TimeLimit(SHORT).run(work())

    limit = TimeLimit(SHORT)
    asyncio.get_running_loop().call_later(5 * SHORT, passed.set)
    assert await limit.run(within()) == "done"
    assert not limit.expired


@pytest.mark.parametrize("waits_before", [False, True])
async def test_a_limit_runs_on_after_a_pause(waits_before: bool) -> None:
    async def work() -> None:
        if waits_before:
            await asyncio.sleep(0)
        with time_limits.paused():
            await asyncio.sleep(0)
        await forever()

    limit = TimeLimit(SHORT)
    with pytest.raises(TimeoutError):
        await limit.run(work())
    assert limit.over


async def test_an_outer_limit_ends_inner_work_and_is_the_one_that_is_over() -> None:
    inner: list[TimeLimit] = []

    async def work() -> None:
        inner.append(TimeLimit(LONG))
        await inner[0].run(forever())

    outer = TimeLimit(SHORT)
    with pytest.raises(TimeoutError):
        await outer.run(work())
    assert (outer.over, inner[0].over, inner[0].expired) == (True, False, True)
