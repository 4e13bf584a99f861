"""Events: ordered within a lane, bounded in number, and handled without blocking the emitter."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from labkit.core.journal import Journal
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock
from labkit.labtime.events import Events
from labkit.labtime.turns import Turns
from tests.guard import PATIENCE


class Recorder:
    """Events with a record of all that handlers do."""

    def __init__(self, capacity: int = 1000, rate: float = 1.0) -> None:
        self.activity = Activity()
        self.handled: list[Any] = []
        self.gate = asyncio.Event()
        self.clock = Clock(rate)
        self.journal = Journal(self.clock.micros)
        self.events = Events(self.journal, self.activity, Turns(self.clock, self.activity), capacity)

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
    recorder = Recorder()

    async def slow(event: tuple[str, str, int, int]) -> None:
        for _ in range(event[2]):
            await asyncio.sleep(0)
        recorder.handled.append(event)

    events = [(*each, number) for number, each in enumerate(emitted)]
    for event in events:
        recorder.events.queue(event[0], event[1], slow, event)
    await recorder.activity.idle()
    assert sorted(recorder.handled, key=lambda event: event[3]) == events
    for lane in {event[:2] for event in events}:
        assert [event for event in recorder.handled if event[:2] == lane] == [
            event for event in events if event[:2] == lane
        ]


async def test_lanes_do_not_wait_for_each_other() -> None:
    recorder = Recorder()
    recorder.events.queue("device", "slow", recorder.gated, 1)
    recorder.events.queue("device", "quick", recorder.note, 2)
    recorder.events.queue("other device", "slow", recorder.note, 3)
    await asyncio.sleep(0.001)
    assert sorted(recorder.handled) == [2, 3]
    recorder.gate.set()
    await recorder.activity.idle()
    assert sorted(recorder.handled) == [1, 2, 3]


async def test_emitting_runs_no_handler_yet() -> None:
    recorder = Recorder()
    recorder.events.queue("device", "solution", recorder.note, 1)
    assert (recorder.handled, recorder.activity.running) == ([], 1)
    await recorder.activity.idle()
    assert recorder.handled == [1]


async def test_a_failing_handler_is_reported_and_the_lane_continues() -> None:
    recorder = Recorder()

    async def fail(event: Any) -> None:
        raise KeyError(event)

    recorder.events.queue("device", "solution", fail, 1)
    recorder.events.queue("device", "solution", recorder.note, 2)
    await recorder.activity.idle()
    assert recorder.failed == ["KeyError: 1"]
    assert recorder.handled == [2]


async def test_an_event_emitted_by_a_handler_queues_behind_earlier_ones() -> None:
    recorder = Recorder()

    async def again(event: Any) -> None:
        recorder.handled.append(event)
        if event == 1:
            recorder.events.queue("device", "solution", recorder.note, 3)

    recorder.events.queue("device", "solution", again, 1)
    recorder.events.queue("device", "solution", again, 2)
    await recorder.activity.idle()
    assert recorder.handled == [1, 2, 3]


async def test_a_full_source_waits_and_reports_it_until_there_is_room() -> None:
    recorder = Recorder(capacity=3)
    for number in range(3):
        await recorder.events.wait_for_capacity("device")  # not yet full
        recorder.events.queue("device", "solution", recorder.gated, number)
    assert recorder.held == []
    waiting = asyncio.ensure_future(recorder.events.wait_for_capacity("device"))
    async with asyncio.timeout(PATIENCE):
        await recorder.events.wait_for_capacity("another device")
    await asyncio.sleep(0.001)
    assert (waiting.done(), recorder.held) == (False, [("device", 3)])
    recorder.gate.set()
    async with asyncio.timeout(PATIENCE):
        await waiting
    await recorder.activity.idle()
    assert recorder.handled == [0, 1, 2]


async def test_there_is_room_as_soon_as_one_event_is_done() -> None:
    recorder = Recorder(capacity=2)
    first = asyncio.Event()
    recorder.events.queue("device", "solution", lambda _: first.wait(), None)
    recorder.events.queue("device", "solution", recorder.gated, None)
    waiting = asyncio.ensure_future(recorder.events.wait_for_capacity("device"))
    await asyncio.sleep(0)
    first.set()
    async with asyncio.timeout(PATIENCE):
        await waiting
    recorder.gate.set()
    await recorder.activity.idle()


async def test_a_source_is_bounded_over_all_its_receivers() -> None:
    recorder = Recorder(capacity=2)
    recorder.events.queue("device", "one", recorder.gated, 1)
    recorder.events.queue("device", "two", recorder.gated, 1)
    waiting = asyncio.ensure_future(recorder.events.wait_for_capacity("device"))
    await asyncio.sleep(0.001)
    assert recorder.held == [("device", 2)]
    recorder.gate.set()
    async with asyncio.timeout(PATIENCE):
        await waiting


async def test_a_caller_cancelled_while_waiting_for_room_leaves_no_event() -> None:
    recorder = Recorder(capacity=1)
    recorder.events.queue("device", "solution", recorder.gated, 1)
    waiting = [asyncio.ensure_future(recorder.events.wait_for_capacity("device")) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    recorder.gate.set()
    async with asyncio.timeout(PATIENCE):
        await waiting[1]
    with contextlib.suppress(asyncio.CancelledError):
        await waiting[0]
    assert waiting[0].cancelled()


async def test_closing_drops_queued_events_and_ends_running_handlers() -> None:
    recorder = Recorder()
    recorder.events.queue("device", "runs", recorder.gated, 1)
    await asyncio.sleep(0.001)
    recorder.events.queue("device", "runs", recorder.note, 2)
    recorder.events.queue("device", "not begun", recorder.note, 3)
    await recorder.events.stop()
    recorder.gate.set()
    async with asyncio.timeout(PATIENCE):
        await recorder.activity.idle()
    assert (recorder.handled, recorder.activity.running, recorder.failed) == ([], 0, [])
    await recorder.events.stop()


async def test_no_emitter_overtakes_others_that_wait_for_room() -> None:
    recorder = Recorder(capacity=1)
    went_on: list[int] = []
    late: list[asyncio.Future[None]] = []

    async def request(number: int) -> None:
        await recorder.events.wait_for_capacity("device")
        went_on.append(number)

    async def handle(_: object) -> None:
        await recorder.gate.wait()
        late.append(asyncio.ensure_future(request(3)))  # it arrives before the others have woken

    recorder.events.queue("device", "solution", handle, None)
    waiting = [asyncio.ensure_future(request(number)) for number in range(3)]
    await asyncio.sleep(0)
    recorder.gate.set()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*waiting)
        await asyncio.gather(*late)
    assert went_on == [0, 1, 2, 3]
