"""Lab time: wall, scaled and virtual clocks."""

from __future__ import annotations

import asyncio
import math
import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.errors import LabError
from labkit.core.host_time import RealTime
from labkit.labtime.clock import LATEST, VIRTUAL_START, Clock
from tests.cases import cases
from tests.guard import PATIENCE

# --- current time -------------------------------------------------------------------------------------------


def test_a_wall_clock_is_the_system_clock() -> None:
    before = time.time()
    clock = Clock()
    assert before - 0.001 <= clock.now() <= time.time() + 0.001
    assert clock.rate == 1


def test_a_scaled_clock_makes_a_minute_of_each_second() -> None:
    real = 5000.0
    clock = Clock(60, start=1000.5, real=RealTime(steady=lambda: real))
    assert clock.now() == 1000.5
    real += 2
    assert (clock.now(), clock.seconds(), clock.micros()) == (1120.5, 1120, 1_120_500_000)


def test_a_virtual_clock_begins_at_one_moment_and_stands_still() -> None:
    assert {Clock(0).now() for _ in range(3)} == {VIRTUAL_START}
    assert (Clock(0).seconds(), Clock(0).micros()) == (1_767_225_600, 1_767_225_600_000_000)
    assert time.gmtime(VIRTUAL_START)[:6] == (2026, 1, 1, 0, 0, 0)
    assert Clock(0, start=7).now() == 7


@cases("rate", [-1, math.nan, math.inf])
def test_a_clock_runs_forwards_at_a_finite_rate(rate: float) -> None:
    with pytest.raises(LabError, match="rate"):
        Clock(rate)


# --- advance ------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1000), max_size=20), st.lists(st.floats(0, 300), max_size=5))
async def test_advancing_fires_each_timer_at_its_own_time(delays: list[float], steps: list[float]) -> None:
    clock = Clock(0, start=0)
    fired: list[tuple[float, float]] = []
    for delay in delays:
        clock.call_at(delay, partial(lambda delay: fired.append((delay, clock.now())), delay))
    for step in [*steps, 0]:
        await clock.advance(step)
    due = sorted(delay for delay in delays if delay <= clock.now())
    assert fired == [(delay, delay) for delay in due]


async def test_timers_of_one_moment_fire_in_the_order_of_creation() -> None:
    clock = Clock(0, start=0)
    fired: list[int] = []
    for number in range(5):
        clock.call_at(10, partial(fired.append, number))
    await clock.advance(10)
    assert fired == [0, 1, 2, 3, 4]


async def test_a_timer_set_by_a_timer_fires_during_the_same_advance() -> None:
    clock = Clock(0, start=0)
    ticks: list[float] = []

    def tick() -> None:
        ticks.append(clock.now())
        clock.call_at(clock.now() + 10, tick)

    clock.call_at(10, tick)
    assert await clock.advance(seconds=35) == 35
    assert ticks == [10, 20, 30]


async def test_a_task_that_sleeps_in_steps_wakes_at_each_step() -> None:
    clock = Clock(0, start=0)
    woken: list[float] = []

    async def walk() -> None:
        for _ in range(3):
            await clock.sleep_until(clock.now() + 60)
            woken.append(clock.now())

    task = asyncio.ensure_future(walk())
    await asyncio.sleep(0)
    clock.settle_with(lambda: asyncio.sleep(0.001))  # as the lab does: the woken task has run
    await clock.advance(minutes=10)
    assert woken == [60, 120, 180]
    await task


async def test_the_lab_settles_before_each_timer() -> None:
    """Also before timers of one moment; tasks woken concurrently by two of them would have no fixed order."""
    clock = Clock(0, start=0)
    seen: list[Any] = []

    async def settle() -> None:
        seen.append(clock.now())

    clock.settle_with(settle)
    for when in (1, 1, 2):
        clock.call_at(when, partial(seen.append, f"timer {when}"))
    await clock.advance(5)
    assert seen == [0, "timer 1", 1, "timer 1", 1, "timer 2", 2]


async def test_advancing_by_units_of_time() -> None:
    clock = Clock(0, start=0)
    assert await clock.advance(seconds=1, minutes=1, hours=1, days=1) == 1 + 60 + 3600 + 86400
    assert await clock.advance() == clock.now()
    assert await clock.advance_to(100_000) == 100_000


@cases(
    ("seconds", "words"),
    [
        (-0.001, "a clock cannot go back: it is 1970-01-01T00:16:40Z"),
        (math.nan, "lab time ends at 9999-01-01T00:00:00Z: .*asked for nan"),
        (math.inf, "lab time ends at 9999-01-01T00:00:00Z: .*asked for inf"),
        (-math.inf, "a clock cannot go back"),
        (1e12, "lab time ends at 9999-01-01T00:00:00Z: it is 1970-01-01T00:16:40Z, asked for 1e[+]12 s after 1970"),
        (LATEST - 999.9, "lab time ends"),
    ],
)  # fmt: skip
async def test_a_virtual_clock_advances_only_to_a_representable_time(seconds: float, words: str) -> None:
    clock = Clock(0, start=1000)
    for move in (clock.advance(seconds), clock.advance_to(1000 + seconds)):
        with pytest.raises(LabError, match=words):
            await move
    assert clock.now() == 1000


@cases("start", [-1.0, LATEST + 1, 1e300, math.nan, math.inf])
def test_a_clock_starts_only_at_a_representable_time(start: float) -> None:
    for rate in (0, 1):
        with pytest.raises(
            LabError, match=r"a clock cannot start at .*, expected a time between 1970 and 9999"
        ):
            Clock(rate, start)


async def test_lab_time_stops_at_its_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, fired = Clock(0, start=1000), list[str]()
    clock.call_at(LATEST, lambda: fired.append("at the end"))
    clock.call_at(LATEST + 1, lambda: fired.append("after it"))
    assert await clock.advance_to(LATEST) == LATEST
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    clock.run(1e12)
    monkeypatch.setattr(time, "time", lambda: 2000.0)
    await asyncio.sleep(0)
    assert (clock.now(), clock.micros(), fired) == (LATEST, int(LATEST * 1_000_000), ["at the end"])
    assert Clock.from_reading(clock.reading()).now() == clock.freeze() == LATEST
    clock.close()


async def test_a_running_clock_cannot_be_advanced() -> None:
    with pytest.raises(LabError, match=r"call freeze\(\) first"):
        await Clock().advance(1)


async def test_after_a_timer_that_raises_the_others_still_fire() -> None:
    clock = Clock(0, start=0)
    fired: list[float] = []
    clock.call_at(1, lambda: 1 / 0)
    clock.call_at(2, lambda: fired.append(clock.now()))
    with pytest.raises(ZeroDivisionError):
        await clock.advance(3)
    await clock.advance(2)
    assert fired == [2]


# --- timers -------------------------------------------------------------------------------------------------


async def test_a_cancelled_timer_never_fires() -> None:
    clock = Clock(0, start=0)
    timer = clock.call_at(1, lambda: pytest.fail("it was cancelled"))
    timer.cancel()
    timer.cancel()
    await clock.advance(2)


async def test_cancelled_timers_are_not_stored() -> None:
    clock = Clock(0, start=0)
    fired: list[float] = []
    clock.call_at(7, lambda: fired.append(clock.now()))
    for number in range(10_000):  # like long polls, each answered before its timeout
        clock.call_at(300 + number, lambda: pytest.fail("it was cancelled")).cancel()
        assert len(clock._timers) < 300
    await clock.advance(20_000)
    assert fired == [7]


@pytest.mark.parametrize("rate", [0, 1])
async def test_a_timer_of_a_past_time_fires_on_the_next_turn_of_the_loop(rate: float) -> None:
    clock = Clock(rate)
    fired = asyncio.Event()
    clock.call_at(clock.now() - 1, fired.set)
    assert not fired.is_set()
    async with asyncio.timeout(PATIENCE):
        await fired.wait()
    await clock.sleep_until(clock.now())  # and no sleeper waits for real time


async def test_timers_on_a_running_clock_fire_when_due() -> None:
    clock = Clock(1000)
    start = clock.now()
    order: list[str] = []
    clock.call_at(start + 20, lambda: order.append("late"))
    clock.call_at(start + 5, lambda: order.append("early"))
    async with asyncio.timeout(PATIENCE):
        await clock.sleep_until(start + 30)
    assert clock.now() >= start + 30
    assert order == ["early", "late"]


async def test_a_running_clock_continues_after_a_timer_that_raises() -> None:
    clock = Clock(1000)
    errors: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context["exception"]))
    clock.call_at(clock.now() + 1, lambda: 1 / 0)
    async with asyncio.timeout(PATIENCE):
        await clock.sleep_until(clock.now() + 2)
    assert [type(error) for error in errors] == [ZeroDivisionError]


async def test_a_cancelled_sleep_leaves_no_timer() -> None:
    clock = Clock(0, start=0)
    task = asyncio.ensure_future(clock.sleep_until(10))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [entry[2].callback for entry in clock._timers] == [None]


async def test_a_closed_clock_fires_nothing() -> None:
    clock = Clock(1000)
    clock.call_at(clock.now() + 1, lambda: pytest.fail("the clock is closed"))
    clock.close()
    await asyncio.sleep(0.005)


# --- freeze and run -----------------------------------------------------------------------------------------


async def test_freezing_stops_time_and_its_timers() -> None:
    clock = Clock(1000)
    fired: list[float] = []
    when = clock.now() + 10
    clock.call_at(when, lambda: fired.append(clock.now()))
    frozen = clock.freeze()
    await asyncio.sleep(0.02)  # twice the real time until the timer
    assert (clock.now(), clock.rate, fired) == (frozen, 0, [])
    await clock.advance_to(when)
    assert fired == [when]


async def test_a_frozen_clock_runs_on_from_its_current_time() -> None:
    clock = Clock(0, start=500)
    fired = asyncio.Event()
    clock.call_at(510, fired.set)
    clock.run(rate=1000)
    async with asyncio.timeout(PATIENCE):
        await fired.wait()
    assert 510 <= clock.freeze() < 500 + 1000 * 5


@cases("rate", [0, -1, math.nan, math.inf])
def test_a_clock_runs_on_only_at_a_rate_above_zero(rate: float) -> None:
    with pytest.raises(LabError, match="above 0"):
        Clock(0).run(rate)


def test_a_step_fires_one_timer_and_nothing_at_the_limit() -> None:
    clock = Clock(rate=0, start=100.0)
    fired: list[tuple[str, float]] = []

    def fire(name: str) -> None:
        fired.append((name, clock.now()))

    async def play() -> None:
        for name, when in (("a", 110.0), ("b", 110.0), ("c", 120.0), ("d", 130.0)):
            clock.call_at(when, partial(fire, name))
        clock.call_at(105.0, lambda: fired.append(("never", 0.0))).cancel()
        with clock.drive("a test"):
            assert clock.step(130.0)
            assert (fired, clock.now(), clock.due) == ([("a", 110.0)], 110.0, True)
            assert clock.step(130.0)
            assert (fired[1:], clock.due) == ([("b", 110.0)], False)
            assert clock.step(130.0)
            assert not clock.step(130.0)
            assert clock.now() == 130.0

    asyncio.run(play())
    assert [name for name, _ in fired] == ["a", "b", "c"]


async def test_only_the_driver_advances_a_driven_clock() -> None:
    clock = Clock(rate=0, start=100.0)
    with clock.drive("the run of a fleet"):
        with pytest.raises(LabError, match="the run of a fleet moves this clock"):
            await clock.advance(1)
        with pytest.raises(LabError, match="moves this clock"):
            clock.run()
        with pytest.raises(LabError, match="moves this clock"), clock.drive("another"):
            pass
    await clock.advance(1)
    with pytest.raises(LabError, match="runs by itself"), Clock(rate=1).drive("a run"):
        pass


async def test_a_time_that_is_no_number_is_refused_and_affects_no_other_timer() -> None:
    clock = Clock(0)
    fired: list[float] = []
    for after in (3.0, 1.0, 2.0):
        clock.call_at(clock.now() + after, partial(fired.append, after))
        with pytest.raises(LabError, match="not nan"):
            clock.call_at(math.nan, partial(fired.append, 0.0))
        with pytest.raises(LabError, match="not nan"):
            await clock.sleep_until(math.nan)
    await clock.advance(10)
    assert fired == [1.0, 2.0, 3.0]


async def test_a_clock_that_runs_waits_for_ever() -> None:
    clock = Clock(1)
    timer = clock.call_at(math.inf, lambda: None)
    came = asyncio.Event()
    clock.call_at(clock.now() + 0.001, came.set)
    await came.wait()
    timer.cancel()
    clock.close()
