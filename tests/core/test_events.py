"""Events: in order within a lane, bounded, and never in the way of who emits them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from labkit.core.activity import Activity
from labkit.core.clock import Clock
from labkit.core.events import Events
from labkit.core.journal import Journal


class Place:
    """Events with a record of all that they tell."""

    def __init__(self, capacity: int = 1000) -> None:
        self.activity = Activity()
        self.handled: list[Any] = []
        self.gate = asyncio.Event()
        self.journal = Journal(Clock(0).micros)
        self.events = Events(self.journal, self.activity, capacity)

    @property
    def failed(self) -> list[str]:
        return [record.summary for record in self.journal.select("error")]

    @property
    def held(self) -> list[tuple[str, int | None]]:
        return [(record.actor, record.size) for record in self.journal.select("backpressure")]

    async def note(self, event: Any) -> None:
        self.handled.append(event)

    async def gated(self, event: Any) -> None:
        await self.gate.wait()
        self.handled.append(event)


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 3)), min_size=1, max_size=30
    )
)
async def test_a_lane_keeps_its_order_however_long_each_event_takes(
    emitted: list[tuple[str, str, int]],
) -> None:
    place = Place()

    async def slow(event: tuple[str, str, int, int]) -> None:
        for _ in range(event[2]):
            await asyncio.sleep(0)
        place.handled.append(event)

    events = [(*each, number) for number, each in enumerate(emitted)]
    for event in events:
        place.events.queue(event[0], event[1], slow, event)
    await place.activity.idle()
    assert sorted(place.handled, key=lambda event: event[3]) == events
    for lane in {event[:2] for event in events}:
        assert [event for event in place.handled if event[:2] == lane] == [
            event for event in events if event[:2] == lane
        ]


async def test_lanes_do_not_wait_for_each_other() -> None:
    place = Place()
    place.events.queue("device", "slow", place.gated, 1)
    place.events.queue("device", "quick", place.note, 2)
    place.events.queue("other device", "slow", place.note, 3)
    await asyncio.sleep(0.001)
    assert sorted(place.handled) == [2, 3]
    place.gate.set()
    await place.activity.idle()
    assert sorted(place.handled) == [1, 2, 3]


async def test_emitting_runs_nothing_yet() -> None:
    place = Place()
    place.events.queue("device", "solution", place.note, 1)
    assert (place.handled, place.activity.running) == ([], 1)
    await place.activity.idle()
    assert place.handled == [1]


async def test_a_handler_that_fails_is_told_and_the_lane_goes_on() -> None:
    place = Place()

    async def fail(event: Any) -> None:
        raise KeyError(event)

    place.events.queue("device", "solution", fail, 1)
    place.events.queue("device", "solution", place.note, 2)
    await place.activity.idle()
    assert place.failed == ["KeyError: 1"]
    assert place.handled == [2]


async def test_what_a_handler_emits_comes_behind_what_is_queued() -> None:
    place = Place()

    async def again(event: Any) -> None:
        place.handled.append(event)
        if event == 1:
            place.events.queue("device", "solution", place.note, 3)

    place.events.queue("device", "solution", again, 1)
    place.events.queue("device", "solution", again, 2)
    await place.activity.idle()
    assert place.handled == [1, 2, 3]


async def test_a_full_source_waits_and_says_so_until_there_is_room() -> None:
    place = Place(capacity=3)
    for number in range(3):
        await place.events.capacity("device")  # not yet full
        place.events.queue("device", "solution", place.gated, number)
    assert place.held == []
    waiting = asyncio.ensure_future(place.events.capacity("device"))
    async with asyncio.timeout(5):
        await place.events.capacity("another device")
    await asyncio.sleep(0.001)
    assert (waiting.done(), place.held) == (False, [("device", 3)])
    place.gate.set()
    async with asyncio.timeout(5):
        await waiting
    await place.activity.idle()
    assert place.handled == [0, 1, 2]


async def test_there_is_room_as_soon_as_one_event_is_done() -> None:
    place = Place(capacity=2)
    first = asyncio.Event()
    place.events.queue("device", "solution", lambda _: first.wait(), None)
    place.events.queue("device", "solution", place.gated, None)
    waiting = asyncio.ensure_future(place.events.capacity("device"))
    await asyncio.sleep(0)
    first.set()
    async with asyncio.timeout(5):
        await waiting
    place.gate.set()
    await place.activity.idle()


async def test_a_source_is_bounded_over_all_its_receivers() -> None:
    place = Place(capacity=2)
    place.events.queue("device", "one", place.gated, 1)
    place.events.queue("device", "two", place.gated, 1)
    waiting = asyncio.ensure_future(place.events.capacity("device"))
    await asyncio.sleep(0.001)
    assert place.held == [("device", 2)]
    place.gate.set()
    async with asyncio.timeout(5):
        await waiting


async def test_who_is_cancelled_while_it_waits_for_room_leaves_nothing() -> None:
    place = Place(capacity=1)
    place.events.queue("device", "solution", place.gated, 1)
    waiting = [asyncio.ensure_future(place.events.capacity("device")) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    place.gate.set()
    async with asyncio.timeout(5):
        await waiting[1]
    with contextlib.suppress(asyncio.CancelledError):
        await waiting[0]
    assert waiting[0].cancelled()


async def test_closing_drops_what_is_queued_and_ends_what_runs() -> None:
    place = Place()
    place.events.queue("device", "runs", place.gated, 1)
    await asyncio.sleep(0.001)
    place.events.queue("device", "runs", place.note, 2)
    place.events.queue("device", "not begun", place.note, 3)
    await place.events.stop()
    place.gate.set()
    async with asyncio.timeout(5):
        await place.activity.idle()
    assert (place.handled, place.activity.running, place.failed) == ([], 0, [])
    await place.events.stop()


async def test_nobody_overtakes_those_that_wait_for_a_source() -> None:
    place = Place(capacity=1)
    went_on: list[int] = []
    late: list[asyncio.Future[None]] = []

    async def request(number: int) -> None:
        await place.events.capacity("device")
        went_on.append(number)

    async def handle(_: object) -> None:
        await place.gate.wait()
        late.append(asyncio.ensure_future(request(3)))  # it comes before the others have woken

    place.events.queue("device", "solution", handle, None)
    waiting = [asyncio.ensure_future(request(number)) for number in range(3)]
    await asyncio.sleep(0)
    place.gate.set()
    async with asyncio.timeout(5):
        await asyncio.gather(*waiting)
        await asyncio.gather(*late)
    assert went_on == [0, 1, 2, 3]
