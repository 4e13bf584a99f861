"""Who waits for a datapoint, and until when."""

import asyncio

from labkit.core.activity import Activity
from labkit.core.clock import Clock
from labkit.devices.polls import Polls
from labkit.devices.state import Datapoint

KEY = ("product", "device", "alias")


def make() -> tuple[Clock, Activity, Polls]:
    clock, activity = Clock(rate=0, start=1000.0), Activity()
    clock.settle_with(activity.idle)
    return clock, activity, Polls(clock, activity)


async def test_a_poll_ends_when_lab_time_reaches_its_end() -> None:
    clock, activity, polls = make()
    ended: list[float] = []

    async def request() -> None:
        with activity:  # but for the time in which the poll waits
            assert await polls.wait(polls.open(KEY, None), 1030.0) is None
            ended.append(clock.now())

    task = asyncio.create_task(request())
    await asyncio.sleep(0)
    await clock.advance(29.5)
    assert not ended
    await clock.advance(60)
    await task
    assert ended == [1030.0]


async def test_a_poll_that_may_not_wait_ends_though_the_clock_stands_still() -> None:
    _, _, polls = make()
    async with asyncio.timeout(1):
        assert await polls.wait(polls.open(KEY, 0), 1000.0) is None


async def test_a_poll_takes_what_is_later_than_its_time() -> None:
    _, _, polls = make()
    poll = polls.open(KEY, 900)
    polls.wake(*KEY[:2], Datapoint("alias", 900, "not later"), live=False)
    polls.wake(*KEY[:2], Datapoint("other", 901, "another alias"), live=False)
    polls.wake(*KEY[:2], Datapoint("alias", 901, "later"), live=False)
    assert await polls.wait(poll, 2000.0) == Datapoint("alias", 901, "later")


async def test_a_poll_from_now_on_takes_a_live_value_of_the_same_second_only() -> None:
    _, _, polls = make()
    poll = polls.open(KEY, None)
    polls.wake(*KEY[:2], Datapoint("alias", 1000, "recorded"), live=False)
    polls.wake(*KEY[:2], Datapoint("alias", 1000, "written"), live=True)
    assert await polls.wait(poll, 2000.0) == Datapoint("alias", 1000, "written")
