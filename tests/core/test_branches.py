"""Calls that an async function makes side by side: one at a time, and its own code before the next of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.branches import Branches
from tests.core.rig import Platform


class Function:
    """An async function on a platform: `body`, which makes calls by `call`."""

    def __init__(self, platform: Platform, body: Callable[[Function], Awaitable[object]]) -> None:
        self.platform = platform
        self._body = body
        self._branches: Branches | None = None

    async def run(self, _: object = None) -> None:
        with Branches(self.platform.turns) as self._branches:
            await self._body(self)

    async def call(self, name: str, *, real: float = 0.0, lab: float = 0.0) -> str:
        """Make a call that takes so many seconds of lab time, and then of real time. Says when that begins and ends."""
        assert self._branches is not None
        return await self._branches.call(partial(self._work, name, real, lab))

    async def nest(self, body: Callable[[Function], Awaitable[object]]) -> None:
        """Make a call that runs another such function."""
        assert self._branches is not None
        await self._branches.call(Function(self.platform, body).run)

    async def _work(self, name: str, real: float, lab: float) -> str:
        if lab:
            await self.platform.hold(lab, hash(name))
        self.platform.heard.append(f"{name} begins")
        await asyncio.sleep(real)
        self.platform.heard.append(f"{name} ends")
        return name

    def queue(self, receiver: str) -> None:
        self.platform.events.queue("a", receiver, self.run, None)


def over(platform: Platform) -> bool:
    return (platform.turns.working, platform.activity.running) == (0, 0)


@given(st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=1, max_size=4))
async def test_calls_stand_in_line_however_long_each_takes(branches: list[list[int]]) -> None:
    """Each branch makes its calls in a row. The model: the next call of one stands behind those of the others."""
    platform = Platform()

    async def body(function: Function) -> None:
        async def branch(number: int, times: list[int]) -> None:
            for step, time in enumerate(times):
                assert await function.call(f"{number}.{step}", real=time / 5000) == f"{number}.{step}"

        await asyncio.gather(*(branch(number, times) for number, times in enumerate(branches)))

    Function(platform, body).queue("x")
    Function(platform, lambda function: function.call("later")).queue("y")
    await platform.activity.idle()
    expected, line = [], [(number, 0) for number, times in enumerate(branches) if times]
    while line:
        number, step = line.pop(0)
        expected.append(f"{number}.{step}")
        if step + 1 < len(branches[number]):
            line.append((number, step + 1))
    assert platform.pairs == [*expected, "later"]
    assert over(platform)


async def test_the_functions_own_code_goes_on_before_the_next_call_begins() -> None:
    platform = Platform()

    async def body(function: Function) -> None:
        async def branch(number: int) -> None:
            await function.call(f"call {number}", real=0.001)
            await platform.works(f"code {number}")

        await asyncio.gather(branch(1), branch(2))

    Function(platform, body).queue("x")
    await platform.activity.idle()
    assert platform.pairs == ["call 1", "code 1", "call 2", "code 2"]


@pytest.mark.parametrize("handler", [True, False])
async def test_no_call_begins_while_its_own_code_works(handler: bool) -> None:
    platform = Platform()

    async def body(function: Function) -> None:
        call = asyncio.ensure_future(function.call("call"))
        await platform.works("code")
        await function.call("second")
        await call

    function = Function(platform, body)
    if handler:
        function.queue("x")
    else:
        with platform.activity:
            await function.run()
    await platform.activity.idle()
    assert platform.pairs == ["code", "call", "second"]


async def test_it_works_while_it_waits_for_no_call_but_for_something_else() -> None:
    platform = Platform()

    async def body(function: Function) -> None:
        await function.call("call")
        await asyncio.sleep(0.003)
        await platform.works("code")

    Function(platform, body).queue("x")
    Function(platform, lambda function: function.call("beside")).queue("y")
    await platform.activity.idle()
    assert platform.pairs == ["call", "code", "beside"]


async def test_one_whose_call_is_over_waits_for_those_that_come_before_it() -> None:
    platform = Platform()
    free = asyncio.Event()

    async def waits(_: object) -> None:
        async with platform.turns.released():
            await free.wait()
        await platform.works("before", 30)

    async def frees() -> None:
        free.set()
        await platform.works("call")

    async def calls(_: object) -> None:
        with Branches(platform.turns) as branches:
            await branches.call(frees)
            await platform.works("after")

    platform.events.queue("a", "x", waits, None)
    platform.events.queue("a", "y", calls, None)
    await platform.activity.idle()
    assert platform.pairs == ["call", "before", "after"]


async def test_a_function_that_something_else_than_a_call_wakes_rests_again() -> None:
    platform = Platform()
    woken = asyncio.Event()

    async def body(function: Function) -> None:
        held = asyncio.ensure_future(function.call("held", lab=5))
        await woken.wait()
        await asyncio.gather(held, function.call("other", lab=7))

    Function(platform, body).queue("x")
    await platform.activity.idle()
    woken.set()
    for _ in range(100):
        await asyncio.sleep(0)
    assert over(platform)
    await platform.advance(7)
    assert platform.pairs == ["held", "other"]
    assert over(platform)


async def test_calls_that_lab_time_holds_let_the_others_go_on_and_other_handlers_once_all_are_held() -> None:
    platform = Platform()

    async def body(function: Function) -> None:
        lengths = {"b": 7.0, "c": 5.0, "d": 0.0, "e": 5.0}
        await asyncio.gather(*(function.call(name, real=0.001, lab=lab) for name, lab in lengths.items()))
        await platform.works("last")

    Function(platform, body).queue("x")
    Function(platform, lambda function: function.call("beside", real=0.001)).queue("y")
    await platform.activity.idle()
    assert platform.pairs == ["d", "beside"]
    assert over(platform)  # so that lab time may go on
    await platform.advance(5)
    assert platform.pairs[2:] == ["c", "e"]
    await platform.advance(2)
    assert platform.pairs[4:] == ["b", "last"]
    assert over(platform)


@pytest.mark.parametrize("driven", [True, False])
async def test_lab_time_waits_for_a_call_beside_one_that_is_held(driven: bool) -> None:
    platform = Platform(driven)

    async def body(function: Function) -> None:
        await asyncio.gather(function.call("held", lab=5), function.call("works", real=0.005))
        await function.call("after")

    Function(platform, body).queue("x")
    await platform.activity.idle()
    assert platform.pairs == ["works"]
    if driven:
        await platform.advance(5)
    else:
        platform.clock.settle_with(platform.activity.idle)
        await platform.clock.advance(5)
    assert platform.pairs == ["works", "held", "after"]
    assert over(platform)


async def test_where_nobody_drives_the_clock_calls_are_side_by_side() -> None:
    platform = Platform(driven=False)

    async def body(function: Function) -> None:
        await asyncio.gather(function.call("a", real=0.001), function.call("b", real=0.003))

    Function(platform, body).queue("x")
    await platform.activity.idle()
    assert platform.heard == ["a begins", "b begins", "a ends", "b ends"]
    assert over(platform)


async def test_a_function_that_a_call_runs_makes_calls_of_its_own() -> None:
    platform = Platform()

    async def inner(function: Function) -> None:
        await asyncio.gather(function.call("held", lab=5), function.call("inner", real=0.001))
        await platform.works("inner code")

    async def body(function: Function) -> None:
        await asyncio.gather(function.nest(inner), function.call("outer", real=0.001))
        await platform.works("code")

    Function(platform, body).queue("x")
    Function(platform, lambda function: function.call("beside")).queue("y")
    await platform.activity.idle()
    assert platform.pairs == ["inner", "outer", "beside"]
    await platform.advance(5)
    assert platform.pairs[3:] == ["held", "inner code", "code"]
    assert over(platform)


async def test_what_has_no_turn_waits_for_no_handler_and_its_calls_stand_in_a_line_of_their_own() -> None:
    platform = Platform()
    begun, answered = asyncio.Event(), asyncio.Event()

    async def request(function: Function) -> None:
        await asyncio.gather(function.call("a", real=0.001), function.call("b"))

    async def handler(_: object) -> None:
        begun.set()
        await answered.wait()  # as for the answer to a request of its own

    platform.events.queue("a", "x", handler, None)
    await begun.wait()
    with platform.activity:
        await Function(platform, request).run()
    assert platform.pairs == ["a", "b"]
    answered.set()
    await platform.activity.idle()
    assert over(platform)


async def test_a_call_that_is_given_up_stops_nobody() -> None:
    platform = Platform()
    begun, given_up, over_there = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def body(function: Function) -> None:
        calls = [asyncio.ensure_future(function.call(name, lab=5)) for name in "abc"]
        await begun.wait()  # so it is no more this one's turn
        calls[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await calls[0]
        assert platform.turns.working == 2  # it goes on at once, beside the other
        given_up.set()
        await asyncio.gather(*calls[1:])

    async def beside(_: object) -> None:
        begun.set()
        await given_up.wait()
        await over_there.wait()

    Function(platform, body).queue("x")
    platform.events.queue("a", "y", beside, None)
    platform.events.queue("a", "y", platform.works, "behind")
    await given_up.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert platform.turns.working == 1  # it rests again
    over_there.set()
    await platform.activity.idle()
    assert platform.pairs == ["behind"]
    await platform.advance(5)
    assert platform.pairs == ["behind", "b", "c"]
    assert over(platform)


async def test_one_that_fails_is_the_functions_matter() -> None:
    platform = Platform()

    async def fails() -> None:
        await asyncio.sleep(0.001)
        raise ValueError("a reason")

    async def run(_: object) -> None:
        with Branches(platform.turns) as branches:
            calls = (branches.call(fails), branches.call(partial(platform.works, "works")))
            found = await asyncio.gather(*calls, return_exceptions=True)
        platform.heard += [f"{found[0]} begins", f"{found[0]} ends"]

    platform.events.queue("a", "x", run, None)
    await platform.activity.idle()
    assert platform.pairs == ["works", "a reason"]
    assert over(platform)


@pytest.mark.parametrize("handler", [True, False])
@pytest.mark.parametrize("seconds", [0.0, 0.003])  # of real time: it rests when it ends, or never did
async def test_calls_that_are_left_behind_end_for_themselves(handler: bool, seconds: float) -> None:
    platform = Platform()
    left: list[asyncio.Future[Any]] = []

    async def body(function: Function) -> None:
        for name, lab in (("a", 0), ("b", 5), ("c", 0)):
            left.append(asyncio.ensure_future(function.call(name, real=0.001, lab=lab)))
        await asyncio.sleep(seconds)

    function = Function(platform, body)
    if handler:
        function.queue("x")
    else:
        with platform.activity:
            await function.run()
    Function(platform, lambda function: function.call("after")).queue("y")
    await platform.activity.idle()
    ended = [each for each in platform.heard if each.endswith("ends")]
    assert sorted(ended) == ["a ends", "after ends", "c ends"]
    await platform.advance(5)
    assert platform.heard[6:] == ["b begins", "b ends"]
    assert [each.result() for each in left] == ["a", "b", "c"]
    assert over(platform)


@pytest.mark.parametrize("lab", [0.0, 5.0])
async def test_a_crash_leaves_nothing_behind(lab: float) -> None:
    platform = Platform()

    async def body(function: Function) -> None:
        await asyncio.gather(*(function.call(name, lab=lab, real=60) for name in "ab"))

    for receiver in "xy":
        Function(platform, body).queue(receiver)
    await asyncio.sleep(0.003)
    await platform.events.crash()
    assert over(platform)
    Function(platform, lambda function: function.call("anew")).queue("x")
    await platform.activity.idle()
    assert platform.heard[-2:] == ["anew begins", "anew ends"]
    assert over(platform)


async def test_a_function_whose_calls_are_over_at_once_can_be_ended() -> None:
    platform = Platform(driven=False)

    async def at_once() -> None:
        pass

    async def run() -> None:
        with platform.activity, Branches(platform.turns) as branches:
            while True:
                await branches.call(at_once)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(run(), 0.01)
    await platform.activity.idle()
    assert over(platform)
