"""Long polls: which datapoint answers a poll, and when it expires."""

import asyncio
from weakref import finalize

from labkit.devices.polls import Polls
from labkit.devices.state import Datapoint, State, Stored
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock
from labkit.labtime.holding import Holding
from labkit.storage.database import Database
from labkit.storage.schema import metadata

KEY = ("product", "device", "alias")


def make() -> tuple[Clock, Activity, Polls]:
    clock, activity, polls, _ = over_state()
    return clock, activity, polls


def over_state() -> tuple[Clock, Activity, Polls, State]:
    clock, activity, database = Clock(rate=0, start=1000.0), Activity(), Database()
    database.start(metadata)
    state = State(database)
    finalize(state, database.close)
    clock.settle_with(activity.idle)
    return clock, activity, Polls(clock, activity, Holding(activity), state), state


async def store(state: State, point: Datapoint, received: int) -> Stored:
    """Store a datapoint of the device, and return it with its number."""
    _, number, _ = await state.store("product", "device", [point], received)
    return Stored(point, number)


def stored(alias: str, timestamp: int, value: str) -> Stored:
    return Stored(Datapoint(alias, timestamp, value), 1)


async def test_a_poll_expires_at_its_lab_time() -> None:
    clock, activity, polls = make()
    ended: list[float] = []

    async def request() -> None:
        with activity:  # except while the poll waits
            assert await polls.wait(polls.open(KEY, None), 1030.0) is None
            ended.append(clock.now())

    task = asyncio.create_task(request())
    await asyncio.sleep(0)
    await clock.advance(29.5)
    assert not ended
    await clock.advance(60)
    await task
    assert ended == [1030.0]


async def test_a_poll_with_timeout_zero_ends_though_the_clock_stands_still() -> None:
    _, _, polls = make()
    async with asyncio.timeout(1):
        assert await polls.wait(polls.open(KEY, 0), 1000.0) is None


async def test_a_poll_is_answered_by_a_point_later_than_its_time() -> None:
    _, _, polls = make()
    poll = polls.open(KEY, 900)
    polls.wake(*KEY[:2], [stored("alias", 899, "earlier")], written=False)
    polls.wake(*KEY[:2], [stored("other", 901, "another alias")], written=False)
    polls.wake(*KEY[:2], [stored("alias", 901, "later")], written=False)
    assert await polls.wait(poll, 2000.0) == stored("alias", 901, "later")


async def test_a_poll_without_a_time_gets_only_a_live_value_of_the_same_second() -> None:
    _, _, polls = make()
    poll = polls.open(KEY, None)
    polls.wake(*KEY[:2], [stored("alias", 1000, "recorded")], written=False)
    polls.wake(*KEY[:2], [stored("alias", 1000, "written")], written=True)
    assert await polls.wait(poll, 2000.0) == stored("alias", 1000, "written")


async def test_one_value_answers_all_polls_that_wait_for_it() -> None:
    _, _, polls = make()
    opened = [polls.open(KEY, None) for _ in range(3)]
    assert (polls.count(*KEY), polls.count("product", "device", "other"), len(polls)) == (3, 0, 3)
    polls.wake("product", "another device", [stored("alias", 1000, "not for us")], written=True)
    polls.wake(*KEY[:2], [stored("alias", 1000, "first")], written=True)
    polls.wake(*KEY[:2], [stored("alias", 1000, "second")], written=True)
    assert [await polls.wait(poll, 2000.0) for poll in opened] == [stored("alias", 1000, "first")] * 3
    for poll in opened:
        polls.close(poll)
    assert len(polls) == 0


async def test_a_pending_poll_is_no_pending_work_but_its_answer_is() -> None:
    _, activity, polls = make()
    seen: list[int] = []

    async def request() -> None:
        with activity:
            poll = polls.open(KEY, None)
            await polls.wait(poll, 2000.0)
            seen.append(activity.running)
            polls.close(poll)

    task = asyncio.create_task(request())
    await asyncio.sleep(0)
    await activity.idle()  # while the poll is pending the lab counts as settled
    polls.wake(*KEY[:2], [stored("alias", 1000, "x")], written=True)
    assert activity.running == 1  # it will be answered, though its task has not run yet
    await activity.idle()
    assert (seen, task.done(), len(polls)) == ([1], True, 0)


async def test_a_client_that_disconnects_leaves_no_poll() -> None:
    clock, activity, polls = make()

    async def request() -> None:
        with activity:
            poll = polls.open(KEY, None)
            try:
                await polls.wait(poll, 2000.0)
            finally:
                polls.close(poll)

    for answered in (False, True):
        task = asyncio.create_task(request())
        await asyncio.sleep(0)
        if answered:  # in the same turn of the loop in which the client disconnects
            polls.wake(*KEY[:2], [stored("alias", 1000, "x")], written=True)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert (len(polls), activity.running) == (0, 0)
    assert not any(entry[2].callback for entry in clock._timers)
    await clock.advance(5000)  # and no poll is woken


async def test_wait_for_count_waits_for_the_number_of_pending_polls() -> None:
    _, _, polls = make()
    held = asyncio.ensure_future(polls.wait_for_count(*KEY, 2))
    left = asyncio.ensure_future(polls.wait_for_count(*KEY, 2))
    polls.open(("product", "device", "other"), None)
    polls.open(KEY, None)
    await asyncio.sleep(0.001)
    assert not held.done()
    left.cancel()
    polls.open(KEY, 5)
    async with asyncio.timeout(5):
        await held
        await polls.wait_for_count(*KEY, 2)


async def test_a_point_that_is_due_answers_before_a_later_one_if_its_timer_is_late() -> None:
    """The loop was busy while a second passed, and then a write came first."""
    clock, activity, polls, state = over_state()
    poll = polls.open(KEY, 999)
    await state.store("product", "device", [Datapoint("alias", 1001, "ahead")], 1000)
    assert await polls.find_stored(poll) is None
    clock._lab = 1002.5  # no timer has fired
    written = await store(state, Datapoint("alias", 1002, "written"), 1002)
    polls.wake("product", "device", [written], written=True)
    again = await store(state, Datapoint("alias", 1002, "again"), 1002)
    polls.wake("product", "device", [again], written=True)
    answer = await polls.wait(poll, 2000.0)
    assert answer is not None
    assert answer.point == Datapoint("alias", 1001, "ahead")
    polls.close(poll)
    await activity.idle()
    assert not polls._looking


async def test_a_pending_poll_gets_the_value_that_another_poll_received_meanwhile() -> None:
    """Between the store and the wake-up a second poll comes, is answered and marks the value."""
    _, _, polls, state = over_state()
    waits = polls.open(KEY, 1000)
    assert await polls.find_stored(waits) is None
    point = await store(state, Datapoint("alias", 1000, "x"), 1000)
    comes = polls.open(KEY, 1000)
    found = await polls.find_stored(comes)
    assert found == point
    await state.record_answer(KEY, found, named=False)
    polls.wake("product", "device", [point], written=True)
    assert await polls.wait(waits, 2000.0) == point
    assert await polls.find_stored(comes) is None


async def test_a_value_that_another_poll_received_precedes_a_later_point_that_is_due() -> None:
    clock, activity, polls, state = over_state()
    waits = polls.open(KEY, 1000)
    await state.store("product", "device", [Datapoint("alias", 1001, "ahead")], 1000)
    assert await polls.find_stored(waits) is None
    clock._lab = 1001.5  # no timer has fired
    point = await store(state, Datapoint("alias", 1000, "x"), 1001)
    await state.record_answer(KEY, point, named=False)
    polls.wake("product", "device", [point], written=False)
    assert await polls.wait(waits, 2000.0) == point
    polls.close(waits)
    await activity.idle()
    assert not polls._looking


async def test_the_timer_of_points_ahead_ends_with_the_last_poll() -> None:
    clock, activity, polls, state = over_state()
    await state.store("product", "device", [Datapoint("alias", 1010, "x")], 1000)
    opened = [polls.open(KEY, 999) for _ in range(2)]
    for poll in opened:
        assert await polls.find_stored(poll) is None
    for left, poll in zip((1, 0), opened, strict=True):
        polls.close(poll)
        assert len([entry for entry in clock._timers if entry[2].callback]) == left
    await clock.advance(60)
    await activity.idle()
