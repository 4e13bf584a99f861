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


async def test_one_value_answers_everybody_who_waits_for_it() -> None:
    _, _, polls = make()
    opened = [polls.open(KEY, None) for _ in range(3)]
    assert (polls.count(*KEY), polls.count("product", "device", "other"), len(polls)) == (3, 0, 3)
    polls.wake("product", "another device", Datapoint("alias", 1001, "not for us"), live=True)
    polls.wake(*KEY[:2], Datapoint("alias", 1001, "first"), live=True)
    polls.wake(*KEY[:2], Datapoint("alias", 1002, "second"), live=True)
    assert [await polls.wait(poll, 2000.0) for poll in opened] == [Datapoint("alias", 1001, "first")] * 3
    for poll in opened:
        polls.close(KEY, poll)
    assert len(polls) == 0


async def test_a_poll_that_waits_is_no_activity_and_its_answer_is() -> None:
    _, activity, polls = make()
    seen: list[int] = []

    async def request() -> None:
        with activity:
            poll = polls.open(KEY, None)
            await polls.wait(poll, 2000.0)
            seen.append(activity.running)
            polls.close(KEY, poll)

    task = asyncio.create_task(request())
    await asyncio.sleep(0)
    await activity.idle()  # while it waits the lab counts as settled
    polls.wake(*KEY[:2], Datapoint("alias", 1000, "x"), live=True)
    assert activity.running == 1  # it is to be answered, though its task has yet to run
    await activity.idle()
    assert (seen, task.done(), len(polls)) == ([1], True, 0)


async def test_a_client_that_goes_away_leaves_nothing() -> None:
    clock, activity, polls = make()

    async def request() -> None:
        with activity:
            poll = polls.open(KEY, None)
            try:
                await polls.wait(poll, 2000.0)
            finally:
                polls.close(KEY, poll)

    for answered in (False, True):
        task = asyncio.create_task(request())
        await asyncio.sleep(0)
        if answered:  # in the very turn in which the client goes
            polls.wake(*KEY[:2], Datapoint("alias", 1000, "x"), live=True)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert (len(polls), activity.running) == (0, 0)
    assert not any(entry[2].callback for entry in clock._timers)
    await clock.advance(5000)  # and nobody is woken


async def test_who_asks_learns_when_polls_are_held() -> None:
    _, _, polls = make()
    held = asyncio.ensure_future(polls.held(*KEY, 2))
    gone = asyncio.ensure_future(polls.held(*KEY, 2))
    polls.open(("product", "device", "other"), None)
    polls.open(KEY, None)
    await asyncio.sleep(0.001)
    assert not held.done()
    gone.cancel()
    polls.open(KEY, 5)
    async with asyncio.timeout(5):
        await held
        await polls.held(*KEY, 2)
