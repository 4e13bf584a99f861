"""Scripts leave the loop to others."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator

import pytest

from labkit.solutions.lua import LuaLimitError, LuaLimits
from labkit.solutions.lua.turns import Turns
from tests.solutions.lua.bench import Bench


class Watch:
    """Counts turns of the loop, and the longest CPU time between two: a busy machine does not lengthen that.

    Python's collector does, by 0.1 s with all that a test run holds, so it waits meanwhile.
    """

    def __init__(self) -> None:
        self.turns = 0
        self.longest = 0.0
        self._last = time.thread_time()
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        now = time.thread_time()
        self.longest = max(self.longest, now - self._last)
        self._last = now
        self.turns += 1
        self._handle = self._loop.call_soon(self._turn)

    def stop(self) -> None:
        self._turn()
        self._handle.cancel()


@pytest.fixture
async def watch() -> AsyncIterator[Watch]:
    gc.disable()
    watch = Watch()
    yield watch
    watch.stop()
    gc.enable()


async def test_a_script_with_endless_ready_calls_leaves_the_loop_in_between(watch: Watch) -> None:
    bench = Bench(limits=LuaLimits(cpu_total_seconds=0.15))
    with pytest.raises(
        LuaLimitError, match=r"CPU limit: 0\.1[5-9]. s in one run, more than 0\.15 s"
    ) as caught:
        await bench.value("while true do Keystore.get{} end")
    watch.stop()
    assert caught.value.limit == "cpu"
    assert watch.longest < Turns.SHARE + 0.05
    assert watch.turns > 4


async def test_many_busy_scripts_at_once_take_turns(watch: Watch) -> None:
    bench = Bench(limits=LuaLimits(cpu_seconds=0.05))
    function = bench.host.load("busy", "while true do end")
    results = await asyncio.gather(*(bench.host.run(function) for _ in range(8)), return_exceptions=True)
    watch.stop()
    assert all(isinstance(result, LuaLimitError) for result in results)
    assert watch.longest < 0.05 + 0.05 + Turns.SHARE


async def test_short_scripts_cost_no_turn(watch: Watch) -> None:
    bench = Bench()
    function = bench.host.load("f", "return 1")
    before = watch.turns
    for _ in range(10):
        await bench.host.run(function)
    assert watch.turns == before
