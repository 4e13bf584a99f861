"""Slow calls: which call held the event loop, for how long, and what waits without holding it."""

from __future__ import annotations

import asyncio
import sys
import time
import warnings

import pytest

from labkit import Lab, SlowWarning
from labkit.control.over_http.operations import operations
from labkit.core.slow import BEAT, HELD, LONGEST, MOST, MOST_NAMES, WARNED, SlowCall, SlowCalls

LONG = 2 * HELD
hold = time.sleep  # in a coroutine on purpose


def names(slow: SlowCalls) -> list[str]:
    return [each.name for each in slow.calls]


async def test_a_call_that_holds_the_loop_is_listed_and_one_that_waits_is_not() -> None:
    slow = SlowCalls(lambda: 7.0)
    slow.begin("waits")
    await asyncio.sleep(LONG)
    slow.end("waits")
    before = slow.begin("outer")
    inner = slow.begin(("Custom", "call"))
    hold(LONG)
    slow.end(("Custom", "call"), inner)
    slow.end("outer", before)
    slow.rest()
    found = [each for each in slow.calls if each.seconds >= LONG]
    assert [(each.name, each.time) for each in found] == [("Custom.call", 7.0)]


async def test_a_call_that_holds_the_loop_and_then_waits_is_listed() -> None:
    slow = SlowCalls(time.time)
    slow.begin("first")
    hold(LONG)
    await asyncio.sleep(2 * BEAT)
    slow.end("first")
    slow.rest()
    assert names(slow)[:1] == ["first"]


async def test_what_is_excused_and_what_is_short_is_no_warning() -> None:
    slow = SlowCalls(time.time)
    slow.begin("first")
    hold(LONG)
    slow.excuse()
    slow.end("first")
    slow.begin("second")
    slow.late(slow.since + WARNED / 2, "second")
    slow.rest()
    assert (names(slow)[-1:], list(slow.unread)) == (["second"], [])


async def test_the_list_the_names_and_the_warnings_are_bounded() -> None:
    slow = SlowCalls(time.time)
    slow.begin("first")
    for number in range(MOST + 1):
        slow.late(slow.since + WARNED, f"{number} {'x' * 1000}")
    slow.rest()
    assert (len(slow.calls), len(slow.unread)) == (MOST, MOST_NAMES)
    assert max(map(len, names(slow))) == LONGEST + 1


def test_a_handler_that_sleeps_is_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Lab(seed=1) as lab:
        acme = lab.solution("acme")

        async def handler() -> None:
            await asyncio.sleep(2 * BEAT)
            hold(WARNED)

        acme.route("GET", "/hold", handler)

        def found() -> list[str]:
            with warnings.catch_warnings(record=True, action="always") as said:
                acme.get("/hold?secret=1")
                lab.settle()
            return [
                str(each.message)
                for each in said
                if each.category is SlowWarning and "hold" in str(each.message)
            ]

        first, second = found(), found()
        assert [each.split(" held")[0] for each in first] == ["GET /hold"]
        assert second == []
        held = [each for each in lab.slow if each.name == "GET /hold" and each.seconds >= WARNED]
        assert len(held) == 2
        assert {each.time for each in held} == {lab.clock.now.timestamp()}


async def test_other_processes_get_the_same_list() -> None:
    operation = operations()["lab.slow"]
    found = [SlowCall("Tsdb.query", 0.25, 7.0)]
    assert operation.decode_result(await operation.encode_result(found)) == found
