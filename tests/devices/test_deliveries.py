"""Answers of polls per connection, and the values that count as seen."""

from __future__ import annotations

import asyncio

from labkit.devices.deliveries import MOST_ALIASES, PollDeliveries
from labkit.devices.seen import MOST_ANSWERS, MOST_MARKS, Key
from labkit.devices.state import AnswerCondition, Datapoint, State, Stored

KEY = ("p", "d", "a")


async def stored(state: State, timestamp: int, value: str = "x", key: Key = KEY) -> Stored:
    _, number, _ = await state.store(*key[:2], [Datapoint(key[2], timestamp, value)], timestamp)
    return Stored(Datapoint(key[2], timestamp, value), number)


async def is_seen(state: State, point: Stored) -> bool:
    """Return whether a value answers no poll from its own second, on a connection that received nothing."""
    [found], _ = await state.due(KEY, [AnswerCondition(point.point.timestamp, True)], 10_000)
    return found is None or found.number != point.number


async def test_a_connection_stores_the_last_answers_of_a_hundred_aliases(state: State) -> None:
    deliveries = PollDeliveries(state)
    keys = [("p", f"d{number}", "a") for number in range(MOST_ALIASES + 1)]
    for key in (*keys[:MOST_ALIASES], keys[0], keys[MOST_ALIASES]):  # the second one is the oldest of these
        await deliveries.add(key, Stored(Datapoint("a", 5, "x"), 7), since=4)
    assert [deliveries.last_number(key, 5) for key in keys] == [7, None, *[7] * (MOST_ALIASES - 1)]
    assert {deliveries.last_number(keys[0], second) for second in (4, 6)} == {None}
    assert sum(map(len, deliveries._last.values())) == 2 * MOST_ALIASES


async def test_answers_that_are_never_confirmed_are_bounded(state: State) -> None:
    deliveries = PollDeliveries(state)
    for number in range(3 * MOST_ALIASES):
        await deliveries.add(KEY, await stored(state, number), since=number)
    assert len(deliveries._unconfirmed) == MOST_ALIASES
    assert len(state.seen.answers[KEY]) == MOST_MARKS
    deliveries.confirm()
    assert (deliveries._unconfirmed, len(state.seen.marks[KEY])) == ([], MOST_ALIASES)
    assert KEY not in state.seen.answers


async def test_a_reset_forgets_all_answers(state: State) -> None:
    deliveries = PollDeliveries(state)
    before = await stored(state, 5)
    await deliveries.add(KEY, before, since=5)
    state.forget_all()
    assert deliveries.last_number(KEY, 5) is None
    await deliveries.add(KEY, before, since=5)
    state.forget_all()
    deliveries.confirm()
    assert not await is_seen(state, before)


async def test_a_confirmation_applies_to_the_value_that_was_sent(state: State) -> None:
    deliveries = PollDeliveries(state)
    first = await stored(state, 5, "first")
    await deliveries.add(KEY, first, since=5)
    second = await stored(state, 5, "second")
    deliveries.confirm()
    assert not await is_seen(state, second)
    await state.record_answer(KEY, second, named=False)
    await state.record_answer(KEY, first, named=False)  # its answer took longer
    assert await is_seen(state, second)


async def test_answers_are_counted_per_value_of_a_second(state: State) -> None:
    for value in ("first", "second"):
        point = await stored(state, 5, value)
        for _ in range(MOST_ANSWERS):
            assert not await is_seen(state, point)
            await state.record_answer(KEY, point, named=True)
        assert await is_seen(state, point)
        assert not state.seen.answers


async def test_answers_of_a_replaced_value_do_not_count_for_the_next_one(state: State) -> None:
    first = await stored(state, 5, "first")
    second = await stored(state, 5, "second")
    for _ in range(MOST_ANSWERS - 1):
        await state.record_answer(KEY, second, named=True)
        await state.record_answer(KEY, first, named=True)
    assert not await is_seen(state, second)
    await state.record_answer(KEY, second, named=True)
    assert await is_seen(state, second)


async def test_marks_are_kept_when_other_aliases_are_written(state: State) -> None:
    point = await stored(state, 5)
    other = await stored(state, 5, key=("p", "d", "b"))
    await state.record_answer(KEY, point, named=False)
    await state.record_answer(("p", "d", "b"), other, named=True)
    await asyncio.gather(*(stored(state, second) for second in (4, 6)))
    assert await is_seen(state, point)
    assert state.seen.answers == {("p", "d", "b"): {5: (other.number, 1)}}
