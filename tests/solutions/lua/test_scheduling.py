"""Scheduling of scripts: they leave the loop to other tasks."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator

import pytest

from labkit.core.errors import LabError
from labkit.solutions.lua import LuaError, LuaLimitError, LuaLimits
from labkit.solutions.lua.scheduling import Scheduler
from tests.solutions.lua.bench import Bench


class Watch:
    """Counts iterations of the loop, and the longest CPU time of one, which a busy machine does not lengthen.

    Python's garbage collector does, by 0.1 s with all objects of a test run, so it is off meanwhile.
    """

    def __init__(self) -> None:
        self.iterations = 0
        self.longest = 0.0
        self._last = time.thread_time()
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_soon(self._next)

    def _next(self) -> None:
        now = time.thread_time()
        self.longest = max(self.longest, now - self._last)
        self._last = now
        self.iterations += 1
        self._handle = self._loop.call_soon(self._next)

    def stop(self) -> None:
        self._next()
        self._handle.cancel()


@pytest.fixture
async def watch() -> AsyncIterator[Watch]:
    gc.disable()
    watch = Watch()
    yield watch
    watch.stop()
    gc.enable()


async def test_a_script_with_endless_immediate_calls_yields_to_the_loop(watch: Watch) -> None:
    bench = Bench(limits=LuaLimits(cpu_total_seconds=0.15))
    with pytest.raises(
        LuaLimitError, match=r"CPU limit: 0\.1[5-9]. s in one run, more than 0\.15 s"
    ) as caught:
        await bench.value("while true do Keystore.get{} end")
    watch.stop()
    assert caught.value.limit == "cpu"
    assert watch.longest < Scheduler.SHARE + 0.05
    assert watch.iterations > 4


async def test_many_busy_concurrent_scripts_yield_to_the_loop(watch: Watch) -> None:
    bench = Bench(limits=LuaLimits(cpu_seconds=0.05))
    function = bench.host.load("busy", "while true do end")
    results = await asyncio.gather(*(bench.host.run(function) for _ in range(8)), return_exceptions=True)
    watch.stop()
    assert all(isinstance(result, LuaLimitError) for result in results)
    assert watch.longest < 0.05 + 0.05 + Scheduler.SHARE


async def test_short_scripts_do_not_yield(watch: Watch) -> None:
    bench = Bench()
    function = bench.host.load("f", "return 1")
    before = watch.iterations
    for _ in range(10):
        await bench.host.run(function)
    assert watch.iterations == before


SPIN = "while true do end"
COUNT = "local n = 0 for i = 1, 5e6 do n = n + i % 7 end return n"


class TestLongRuns:
    """Long runs are interrupted, and continue later."""

    async def test_others_run_meanwhile(self, watch: Watch) -> None:
        bench = Bench()
        long = bench.host.load("long", COUNT, publish=False)
        quick = bench.host.load("quick", "return 'quick'", publish=False)
        runs = [asyncio.create_task(bench.host.run(long)) for _ in range(3)]
        await asyncio.sleep(0)
        done = 0
        while not all(run.done() for run in runs):
            assert (await bench.host.run(quick)).value == "quick"
            done += 1
            await asyncio.sleep(0)
        assert done > 10
        watch.stop()
        assert watch.longest < 0.1
        assert len({(await run).value for run in runs}) == 1

    async def test_a_quick_run_does_not_wait_for_all_long_ones(self, watch: Watch) -> None:
        """Each iteration of the loop runs one slice of one long run."""
        bench = Bench(limits=LuaLimits(cpu_seconds=0.05))
        spin = bench.host.load("spin", SPIN, publish=False)
        with pytest.raises(LuaLimitError):
            await bench.host.run(spin)
        runs = [asyncio.create_task(bench.host.run(spin)) for _ in range(8)]
        await asyncio.sleep(0)
        while not any(run.done() for run in runs):
            before = watch.iterations
            await bench.value("return 1")
            assert watch.iterations - before <= 3
            await asyncio.sleep(0)
        results = await asyncio.gather(*runs, return_exceptions=True)
        assert all(isinstance(result, LuaLimitError) for result in results)

    async def test_its_limit_does_not_count_other_runs(self) -> None:
        bench = Bench(limits=LuaLimits(cpu_seconds=0.1))
        honest = bench.host.load(
            "honest", "for i = 1, 7.5e5 do local x = i % 7 end return 'done'", publish=False
        )
        spin = bench.host.load("spin", SPIN, publish=False)
        runs = [bench.host.run(each) for each in (spin, honest, spin, spin, spin)]
        results = await asyncio.gather(*runs, return_exceptions=True)
        assert not isinstance(results[1], BaseException)
        assert results[1].value == "done"
        assert 0 < results[1].cpu_seconds < 0.1
        assert sum(isinstance(result, LuaLimitError) for result in results) == 4

    async def test_its_globals_are_its_own(self) -> None:
        bench = Bench()
        source = "mine = n for i = 1, 2e6 do local x = i % 7 end return mine"
        long = bench.host.load("long", source, ["n"], publish=False)
        results = await asyncio.gather(*(bench.host.run(long, n) for n in range(6)))
        assert [result.value for result in results] == list(range(6))

    async def test_it_may_call_services_in_between(self) -> None:
        bench = Bench()
        source = """
            local total = 0
            for k = 1, 4 do
              for i = 1, 2e6 do local x = i % 7 end
              total = total + Foo.add{value = k}.value
            end
            return total
        """
        assert await bench.value(source) == 10

    @pytest.mark.parametrize(
        "wrap",
        [
            "pcall(function() SPIN end)",
            "while true do pcall(function() SPIN end) end",
            "coroutine.wrap(function() SPIN end)()",
            "while true do coroutine.resume(coroutine.create(function() SPIN end)) end",
            "setmetatable({}, {__index = function() SPIN end}).x = 1",
            "table.sort({1, 2, 3}, function() SPIN end)",
            "('x'):gsub('x', function() SPIN end)",
            "table.foreach({1}, function() SPIN end)",
            "local function deep(n) if n > 0 then return 1 + deep(n - 1) end SPIN end deep(5000)",
        ],
    )
    async def test_a_cancelled_run_ends_anywhere(self, wrap: str, watch: Watch) -> None:
        bench = Bench()
        spin = bench.host.load(
            "spin", "kept = 1 " + wrap.replace("SPIN", SPIN).replace(".x = 1", ".x()"), publish=False
        )
        run = asyncio.create_task(bench.host.run(spin))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not run.done()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert await bench.value("return kept") == 1
        watch.stop()
        assert watch.longest < 0.1

    async def test_close_ends_long_runs(self) -> None:
        bench = Bench()
        spin = bench.host.load("spin", SPIN)
        runs = [asyncio.create_task(bench.host.run(spin)) for _ in range(3)]
        for _ in range(10):
            await asyncio.sleep(0)
        bench.host.close()
        results = await asyncio.gather(*runs, return_exceptions=True)
        assert [type(result) for result in results] == [LabError] * 3

    async def test_clear_lets_long_runs_end(self) -> None:
        bench = Bench()
        run = asyncio.create_task(bench.value("kept = 'mine' " + COUNT.replace("return n", "return kept")))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not run.done()
        bench.host.clear()
        assert await bench.value("return type(kept)") == "nil"
        assert await run == "mine"
        assert await bench.value("return type(kept)") == "nil"

    async def test_an_error_is_raised_as_usual(self) -> None:
        bench = Bench()
        with pytest.raises(LuaError, match=r"^script\.lua:2: boom$"):
            await bench.value("for i = 1, 1e7 do local x = i % 7 end\nerror('boom')")

    async def test_an_exception_of_the_log_is_raised_too(self) -> None:
        bench = Bench()

        def broken(*_: object) -> None:
            raise OSError("disk full")

        bench.host._write_log = broken
        with pytest.raises(OSError, match="disk full"):
            await bench.value("for i = 1, 1e7 do local x = i % 7 end pcall(print, 'x')")

    async def test_a_long_run_without_a_waiting_caller_is_freed(self) -> None:
        bench = Bench()
        spin = bench.host.load("spin", "while true do pcall(function() while true do end end) end")
        run = bench.host.run(spin)
        run.send(None)  # until it is interrupted
        run.close()
        assert await bench.value("return 1") == 1


async def test_deep_recursion_beside_long_runs() -> None:
    """Each has a C stack of its own."""
    bench = Bench()
    source = "local function f(k) if k == 0 then for i = 1, 2e6 do end return 0 end return 1 + f(k - 1) end return f(n)"
    deep = bench.host.load("deep", source, ["n"], publish=False)
    nested = """
        local function nest(n)
          if n == 0 then for i = 1, 3e6 do end return 0 end
          return 1 + coroutine.wrap(nest_)(n - 1)
        end
        nest_ = nest
        return nest(90)
    """
    inside = bench.host.load("inside", nested, publish=False)
    runs = [
        *(bench.host.run(deep, n) for n in (10, 1000, 7000)),
        bench.host.run(inside),
        bench.host.run(inside),
    ]
    assert [result.value for result in await asyncio.gather(*runs)] == [10, 1000, 7000, 90, 90]


# --- concurrent runs ----------------------------------------------------------------------------------------
