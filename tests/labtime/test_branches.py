"""Concurrent calls of one async function: one at a time, and the function's own code runs before the next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.labtime.branches import Branches
from tests.labtime.rig import Platform


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
        """Make a call that takes seconds of lab time, then of real time; log its begin and its end."""
        assert self._branches is not None
        return await self._branches.call(partial(self._work, name, real, lab))

    async def nest(self, body: Callable[[Function], Awaitable[object]]) -> None:
        """Make a call that runs another such function."""
        assert self._branches is not None
        await self._branches.call(Function(self.platform, body).run)

    async def _work(self, name: str, real: float, lab: float) -> str:
        if lab:
            await self.platform.hold(lab, hash(name))
        self.platform.log.append(f"{name} begins")
        await asyncio.sleep(real)
        self.platform.log.append(f"{name} ends")
        return name

    def queue(self, receiver: str) -> None:
        self.platform.events.queue("a", receiver, self.run, None)


def over(platform: Platform) -> bool:
    return (platform.turns.working, platform.activity.running) == (0, 0)


@given(st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=1, max_size=4))
async def test_calls_queue_in_order_however_long_each_takes(branches: list[list[int]]) -> None:
    """Each branch makes its calls in sequence. The model: a branch's next call queues behind the others' calls."""
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
    assert platform.uninterrupted == [*expected, "later"]
    assert over(platform)


async def test_the_functions_own_code_runs_before_the_next_call_begins() -> None:
    platform = Platform()

    async def body(function: Function) -> None:
        async def branch(number: int) -> None:
            await function.call(f"call {number}", real=0.001)
            await platform.run_logged(f"code {number}")

        await asyncio.gather(branch(1), branch(2))

    Function(platform, body).queue("x")
    await platform.activity.idle()
    assert platform.uninterrupted == ["call 1", "code 1", "call 2", "code 2"]


@pytest.mark.parametrize("handler", [True, False])
async def test_no_call_begins_while_the_functions_own_code_runs(handler: bool) -> None:
    platform = Platform()

    async def body(function: Function) -> None:
        call = asyncio.ensure_future(function.call("call"))
        await platform.run_logged("code")
        await function.call("second")
        await call

    function = Function(platform, body)
    if handler:
        function.queue("x")
    else:
        with platform.activity:
            await function.run()
    await platform.activity.idle()
    assert platform.uninterrupted == ["code", "call", "second"]


async def test_the_function_runs_on_while_it_waits_for_something_else_than_a_call() -> None:
    platform = Platform()

    async def body(function: Function) -> None:
        await function.call("call")
        await asyncio.sleep(0.003)
        await platform.run_logged("code")

    Function(platform, body).queue("x")
    Function(platform, lambda function: function.call("beside")).queue("y")
    await platform.activity.idle()
    assert platform.uninterrupted == ["call", "code", "beside"]


async def test_a_function_whose_call_has_ended_waits_for_earlier_handlers() -> None:
    platform = Platform()
    free = asyncio.Event()

    async def waits(_: object) -> None:
        async with platform.turns.released():
            await free.wait()
        await platform.run_logged("before", 30)

    async def frees() -> None:
        free.set()
        await platform.run_logged("call")

    async def calls(_: object) -> None:
        with Branches(platform.turns) as branches:
            await branches.call(frees)
            await platform.run_logged("after")

    platform.events.queue("a", "x", waits, None)
    platform.events.queue("a", "y", calls, None)
    await platform.activity.idle()
    assert platform.uninterrupted == ["call", "before", "after"]


async def test_a_function_woken_by_something_else_than_a_call_rests_again() -> None:
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
    assert platform.uninterrupted == ["held", "other"]
    assert over(platform)


async def test_delayed_calls_let_other_calls_run_and_other_handlers_once_all_calls_are_delayed() -> None:
    platform = Platform()

    async def body(function: Function) -> None:
        lengths = {"b": 7.0, "c": 5.0, "d": 0.0, "e": 5.0}
        await asyncio.gather(*(function.call(name, real=0.001, lab=lab) for name, lab in lengths.items()))
        await platform.run_logged("last")

    Function(platform, body).queue("x")
    Function(platform, lambda function: function.call("beside", real=0.001)).queue("y")
    await platform.activity.idle()
    assert platform.uninterrupted == ["d", "beside"]
    assert over(platform)  # so that lab time may advance
    await platform.advance(5)
    assert platform.uninterrupted[2:] == ["c", "e"]
    await platform.advance(2)
    assert platform.uninterrupted[4:] == ["b", "last"]
    assert over(platform)


@pytest.mark.parametrize("driven", [True, False])
async def test_lab_time_waits_for_a_running_call_beside_a_delayed_one(driven: bool) -> None:
    platform = Platform(driven)

    async def body(function: Function) -> None:
        await asyncio.gather(function.call("held", lab=5), function.call("works", real=0.005))
        await function.call("after")

    Function(platform, body).queue("x")
    await platform.activity.idle()
    assert platform.uninterrupted == ["works"]
    if driven:
        await platform.advance(5)
    else:
        platform.clock.settle_with(platform.activity.idle)
        await platform.clock.advance(5)
    assert platform.uninterrupted == ["works", "held", "after"]
    assert over(platform)


async def test_calls_are_concurrent_unless_the_clock_is_driven() -> None:
    platform = Platform(driven=False)

    async def body(function: Function) -> None:
        await asyncio.gather(function.call("a", real=0.001), function.call("b", real=0.003))

    Function(platform, body).queue("x")
    await platform.activity.idle()
    assert platform.log == ["a begins", "b begins", "a ends", "b ends"]
    assert over(platform)


async def test_a_function_run_by_a_call_makes_its_own_calls() -> None:
    platform = Platform()

    async def inner(function: Function) -> None:
        await asyncio.gather(function.call("held", lab=5), function.call("inner", real=0.001))
        await platform.run_logged("inner code")

    async def body(function: Function) -> None:
        await asyncio.gather(function.nest(inner), function.call("outer", real=0.001))
        await platform.run_logged("code")

    Function(platform, body).queue("x")
    Function(platform, lambda function: function.call("beside")).queue("y")
    await platform.activity.idle()
    assert platform.uninterrupted == ["inner", "outer", "beside"]
    await platform.advance(5)
    assert platform.uninterrupted[3:] == ["held", "inner code", "code"]
    assert over(platform)


async def test_a_function_without_a_turn_waits_for_no_handler_and_queues_its_own_calls() -> None:
    platform = Platform()
    begun, answered = asyncio.Event(), asyncio.Event()

    async def request(function: Function) -> None:
        await asyncio.gather(function.call("a", real=0.001), function.call("b"))

    async def handler(_: object) -> None:
        begun.set()
        await answered.wait()  # as if for the answer to its own request

    platform.events.queue("a", "x", handler, None)
    await begun.wait()
    with platform.activity:
        await Function(platform, request).run()
    assert platform.uninterrupted == ["a", "b"]
    answered.set()
    await platform.activity.idle()
    assert over(platform)


async def test_a_cancelled_call_blocks_no_other() -> None:
    platform = Platform()
    begun, given_up, over_there = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def body(function: Function) -> None:
        calls = [asyncio.ensure_future(function.call(name, lab=5)) for name in "abc"]
        await begun.wait()  # so that its turn has ended
        calls[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await calls[0]
        assert platform.turns.working == 2  # it continues at once, concurrently with the other
        given_up.set()
        await asyncio.gather(*calls[1:])

    async def beside(_: object) -> None:
        begun.set()
        await given_up.wait()
        await over_there.wait()

    Function(platform, body).queue("x")
    platform.events.queue("a", "y", beside, None)
    platform.events.queue("a", "y", platform.run_logged, "behind")
    await given_up.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert platform.turns.working == 1  # it rests again
    over_there.set()
    await platform.activity.idle()
    assert platform.uninterrupted == ["behind"]
    await platform.advance(5)
    assert platform.uninterrupted == ["behind", "b", "c"]
    assert over(platform)


async def test_an_exception_of_a_call_is_raised_in_the_function() -> None:
    platform = Platform()

    async def fails() -> None:
        await asyncio.sleep(0.001)
        raise ValueError("a reason")

    async def run(_: object) -> None:
        with Branches(platform.turns) as branches:
            calls = (branches.call(fails), branches.call(partial(platform.run_logged, "works")))
            found = await asyncio.gather(*calls, return_exceptions=True)
        platform.log += [f"{found[0]} begins", f"{found[0]} ends"]

    platform.events.queue("a", "x", run, None)
    await platform.activity.idle()
    assert platform.uninterrupted == ["works", "a reason"]
    assert over(platform)


@pytest.mark.parametrize("handler", [True, False])
@pytest.mark.parametrize(
    "seconds", [0.0, 0.003]
)  # seconds of real time: it rests when the call ends, or never did
async def test_abandoned_calls_run_to_their_end(handler: bool, seconds: float) -> None:
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
    ended = [each for each in platform.log if each.endswith("ends")]
    assert sorted(ended) == ["a ends", "after ends", "c ends"]
    await platform.advance(5)
    assert platform.log[6:] == ["b begins", "b ends"]
    assert [each.result() for each in left] == ["a", "b", "c"]
    assert over(platform)


@pytest.mark.parametrize("lab", [0.0, 5.0])
async def test_a_crash_leaves_no_state(lab: float) -> None:
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
    assert platform.log[-2:] == ["anew begins", "anew ends"]
    assert over(platform)


async def test_a_function_whose_calls_return_at_once_can_be_cancelled() -> None:
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
