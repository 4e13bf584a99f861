"""Environments of runs: each has its own globals, modules and random numbers, and later runs reuse them."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from labkit.core.errors import LabError
from labkit.solutions.lua import LuaError, LuaLimitError, LuaLimits, LuaSyntaxError
from labkit.solutions.lua.environments import KEPT
from tests.cases import cases
from tests.guard import PATIENCE
from tests.solutions.lua.bench import Bench

MIXED = "x = n Foo.wait{} local seen = x x = nil return seen"


class Gate:
    """A service whose calls wait until a test opens it."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self.waiting = 0
        self.arrived = asyncio.Condition()

    async def __call__(self, _service: str, operation: str, _parameters: Any, _context: Any) -> Any:
        if operation == "wait":
            async with self.arrived:
                self.waiting += 1
                self.arrived.notify_all()
            await self._open.wait()
        return {}

    async def wait_for_count(self, count: int) -> None:
        """Wait until `count` calls are waiting."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: self.waiting >= count)

    def open(self) -> None:
        self._open.set()


async def overlapping(bench: Bench, gate: Gate, count: int, source: str = MIXED) -> list[Any]:
    """Return the results of concurrent runs of one script, which all wait at the same time."""
    function = bench.host.load("f", source, ["n"], publish=False)
    runs = [asyncio.create_task(bench.host.run(function, n)) for n in range(count)]
    await gate.wait_for_count(count)
    gate.open()
    return [result.value for result in await asyncio.gather(*runs)]


async def test_globals_of_a_waiting_run_do_not_change() -> None:
    gate = Gate()
    assert await overlapping(Bench(service=gate), gate, 20) == list(range(20))


async def test_locals_of_modules_do_not_change_either() -> None:
    gate = Gate()
    modules = {
        "m": "local kept local M = {} function M.set(v) kept = v end function M.get() return kept end return M"
    }
    bench = Bench(service=gate, modules=modules)
    source = "local m = require('m') m.set(n) Foo.wait{} return m.get()"
    assert await overlapping(bench, gate, 10, source) == list(range(10))


async def test_runs_in_sequence_share_globals() -> None:
    bench = Bench()
    function = bench.host.load("f", "count = (count or 0) + 1 Foo.bar{} return count", publish=False)
    assert [(await bench.host.run(function)).value for _ in range(5)] == [1, 2, 3, 4, 5]


async def test_after_concurrent_runs_the_oldest_environment_is_reused() -> None:
    gate = Gate()
    bench = Bench(service=gate)
    await bench.value("owner = 'first'")
    await overlapping(bench, gate, 10, "Foo.wait{} owner = owner or n")
    assert [await bench.value("return owner") for _ in range(3)] == ["first"] * 3


async def test_modules_run_again_in_each_environment_with_their_calls() -> None:
    gate = Gate()
    bench = Bench(service=gate, modules={"m": "Foo.loaded{} loads = (loads or 0) + 1"})
    assert await overlapping(bench, gate, 5, "Foo.wait{} return loads") == [1] * 5
    assert [call[1] for call in bench.calls].count("loaded") == 5
    assert await bench.value("return loads") == 1
    assert [call[1] for call in bench.calls].count("loaded") == 5


async def test_runs_beyond_the_limit_wait_in_order_and_create_no_environment() -> None:
    gate = Gate()
    bench = Bench(service=gate, limits=LuaLimits(runs=3))
    function = bench.host.load("f", "print(n) Foo.wait{} return n", ["n"], publish=False)
    runs = [asyncio.create_task(bench.host.run(function, n)) for n in range(20)]
    await gate.wait_for_count(3)
    for _ in range(20):
        await asyncio.sleep(0)
    assert (gate.waiting, bench.host._environments._made) == (3, 3)
    gate.open()
    assert [result.value for result in await asyncio.gather(*runs)] == list(range(20))
    assert [text for _, text, _ in bench.logs] == [str(n) for n in range(20)]
    assert bench.host._environments._made == 3


async def test_a_waiting_run_can_be_cancelled() -> None:
    gate = Gate()
    bench = Bench(service=gate, limits=LuaLimits(runs=1))
    function = bench.host.load("f", "Foo.wait{} return n", ["n"], publish=False)
    runs = [asyncio.create_task(bench.host.run(function, n)) for n in range(3)]
    await gate.wait_for_count(1)
    runs[0].cancel()  # it has a turn
    runs[1].cancel()  # it waits for one
    gate.open()
    assert (await runs[2]).value == 2
    assert await bench.value("return 'free'") == "free"


async def test_a_nested_run_never_waits_for_a_turn_that_its_caller_has() -> None:
    async def nested(_service: str, _operation: str, parameters: Any, _context: Any) -> Any:
        """Make a nested call like another solution that calls this one again, partly in tasks and threads."""
        left = parameters["left"]
        if not left:
            return {"depth": 0}
        run = bench.host.run(function, left - 1)
        if left % 3 == 0:
            result = await asyncio.create_task(run)
        elif left % 3 == 1:
            loop = asyncio.get_running_loop()
            call = asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(run, loop).result())
            result = await call
        else:
            result = await run
        return {"depth": result.value + 1}

    bench = Bench(service=nested, limits=LuaLimits(runs=2))
    function = bench.host.load("f", "return Foo.go{left = n}.depth", ["n"], publish=False)
    async with asyncio.timeout(PATIENCE):
        results = await asyncio.gather(*(bench.host.run(function, 7) for _ in range(5)))
    assert [result.value for result in results] == [7] * 5


async def test_few_idle_environments_are_kept() -> None:
    def alive() -> int:
        gc.collect()
        return sum(type(thing).__name__ == "LuaRuntime" for thing in gc.get_objects())

    before, gate = alive(), Gate()
    bench = Bench(service=gate)
    await overlapping(bench, gate, 4 * KEPT)
    assert alive() == before + KEPT


async def test_a_dropped_environment_is_freed_without_the_garbage_collector() -> None:
    gate = Gate()
    bench = Bench(service=gate)
    made: list[weakref.ref[Any]] = []
    original = bench.host._environments._make

    def make() -> Any:
        environment = original()
        made.append(weakref.ref(environment.runtime))
        return environment

    bench.host._environments._make = make
    gc.disable()
    try:
        await overlapping(bench, gate, 3 * KEPT)
        assert (
            sum(reference() is not None for reference in made) == KEPT - 1
        )  # and the first one, created before
    finally:
        gc.enable()


async def test_a_script_loaded_later_is_in_all_environments() -> None:
    gate = Gate()
    bench = Bench(service=gate)
    await overlapping(bench, gate, KEPT)
    old = bench.host.load("helper", "return 'old'")
    bench.host.load("helper", "return 'new'")
    bench.host.unload(old)
    bench.host.add_module("m", "M = 'module'")
    gate = bench._service = Gate()
    assert await overlapping(bench, gate, KEPT + 2, "Foo.wait{} return helper() .. M") == ["newmodule"] * (
        KEPT + 2
    )


async def test_a_waiting_run_keeps_scripts_that_are_unloaded() -> None:
    gate = Gate()
    bench = Bench(service=gate)
    helper = bench.host.load("helper", "return 'there'")
    run = asyncio.create_task(bench.value("Foo.wait{} return helper()"))
    await gate.wait_for_count(1)
    bench.host.unload(helper)
    gate.open()
    assert await run == "there"
    assert await bench.value("return type(rawget(_G, 'helper'))") == "nil"


async def test_a_script_that_does_not_compile_changes_nothing() -> None:
    bench = Bench(modules={"m": "M = 1"})
    await bench.value("kept = 1")
    with pytest.raises(LuaSyntaxError):
        bench.host.load("bad", "return return")
    with pytest.raises(LuaSyntaxError):
        bench.host.add_module("m", "x = = 1")
    with pytest.raises(LuaSyntaxError):
        bench.host.add_module("n", "x = = 1")
    assert await bench.value("return {kept, M}") == [1, 1]


async def test_the_memory_limit_is_per_run() -> None:
    """Eight runs of 5 MiB each, with a limit of 8 MiB per run."""
    gate = Gate()
    bench = Bench(service=gate, limits=LuaLimits(memory_bytes=8 * 2**20))
    source = "local t = {} for i = 1, 50 do t[i] = ('x'):rep(1e5) .. i .. n end Foo.wait{} return #t"
    assert await overlapping(bench, gate, 8, source) == [50] * 8


async def test_a_run_out_of_memory_does_not_affect_others() -> None:
    gate = Gate()
    bench = Bench(service=gate, limits=LuaLimits(memory_bytes=4 * 2**20))
    await bench.value("owner = 'first'")
    waiting = asyncio.create_task(bench.value("Foo.wait{} return owner"))
    await gate.wait_for_count(1)
    with pytest.raises(LuaLimitError, match="memory limit"):
        await bench.value("kept = {} for i = 1, 1e6 do kept[i] = ('x'):rep(1000) .. i end")
    gate.open()
    assert await waiting == "first"
    assert await bench.value("return {owner, type(kept)}") == ["first", "nil"]


class TestNested:
    """A service call that runs another script of the same solution."""

    @staticmethod
    def bench() -> Bench:
        async def run(_service: str, _operation: str, parameters: Any, _context: Any) -> Any:
            return (await bench.host.run(inner, parameters["n"])).value

        bench = Bench(service=run)
        source = "mine = n if n == 0 then return 'end' end local r = Foo.run{n = n - 1} return mine .. r"
        inner = bench.host.load("inner", source, ["n"], publish=False)
        return bench

    async def test_it_has_its_own_environment(self) -> None:
        assert await self.bench().value("return Foo.run{n = 12}") == "121110987654321end"

    async def test_concurrent_nested_runs(self) -> None:
        bench = self.bench()
        function = bench.host.load("outer", "return Foo.run{n = 5}", publish=False)
        results = await asyncio.gather(*(bench.host.run(function) for _ in range(5)))
        assert [result.value for result in results] == ["54321end"] * 5


class TestEnds:
    async def test_a_cancelled_run_returns_its_environment(self) -> None:
        gate = Gate()
        bench = Bench(service=gate)
        run = asyncio.create_task(bench.value("mine = 1 Foo.wait{} mine = 2"))
        await gate.wait_for_count(1)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert await bench.value("return mine") == 1

    async def test_a_run_ended_by_a_service_returns_its_environment(self) -> None:
        async def broken(*_: object) -> object:
            raise ZeroDivisionError

        bench = Bench(service=broken)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await bench.value("n = (n or 0) + 1 Foo.bar{}")
        assert await bench.value("return n") == 3

    async def test_clear_drops_globals_and_lets_runs_end(self) -> None:
        gate = Gate()
        bench = Bench(service=gate, modules={"m": "M = 'module'"})
        await bench.value("kept = 1")
        run = asyncio.create_task(bench.value("mine = kept Foo.wait{} return mine"))
        await gate.wait_for_count(1)
        bench.host.clear()
        assert await bench.value("return {type(kept), type(mine), M}") == ["nil", "nil", "module"]
        gate.open()
        assert await run == 1
        assert await bench.value("return {type(kept), type(mine), M}") == ["nil", "nil", "module"]

    async def test_close_during_several_runs(self) -> None:
        gate = Gate()
        bench = Bench(service=gate)
        runs = [asyncio.create_task(bench.value("Foo.wait{} print('on')")) for _ in range(3)]
        await gate.wait_for_count(3)
        bench.host.close()
        gate.open()
        results = await asyncio.gather(*runs, return_exceptions=True)
        assert [type(result) for result in results] == [LabError] * 3
        assert bench.logs == []


class TestRandom:
    DRAW = "math.randomseed(1) local t = {} for i = 1, 100 do t[i] = math.random() end return t"

    async def test_a_seed_gives_each_run_of_a_script_its_own_stream(self) -> None:
        first, again = Bench(random_seed=7), Bench(random_seed=7)
        one = [await first.value(self.DRAW) for _ in range(3)]
        assert [await again.value(self.DRAW) for _ in range(3)] == one
        assert len({number for numbers in one for number in numbers}) == 300
        assert await Bench(random_seed=8).value(self.DRAW) not in one

    async def test_other_scripts_and_concurrent_runs_do_not_affect_it(self) -> None:
        async def draw(source: str, others: int) -> list[Any]:
            gate = Gate()
            bench = Bench(service=gate)
            other = bench.host.load(
                "other", "Foo.wait{} return math.random()", file="other.lua", publish=False
            )
            runs = [asyncio.create_task(bench.host.run(other)) for _ in range(others)]
            await gate.wait_for_count(others)
            values = [await bench.value(source) for _ in range(2)]
            gate.open()
            await asyncio.gather(*runs)
            return values

        assert await draw(self.DRAW, 0) == await draw(self.DRAW, 5)

    async def test_clear_restarts_the_streams(self) -> None:
        bench = Bench(random_seed=7)
        story = [await bench.value(self.DRAW) for _ in range(2)]
        bench.host.clear()
        assert [await bench.value(self.DRAW) for _ in range(2)] == story

    async def test_without_a_seed_no_number_repeats(self) -> None:
        seen = [tuple(await Bench(random_seed=None).value(self.DRAW)) for _ in range(3)]
        assert len({number for numbers in seen for number in numbers}) == 300

    @pytest.mark.parametrize("seed", [7, None])
    async def test_numbers_are_spread_evenly(self, seed: int | None) -> None:
        source = """
            local counts, low, high = {0, 0, 0, 0, 0, 0}, 2, -1
            for i = 1, 6000 do
              local r, die = math.random(), math.random(6)
              low, high = math.min(low, r), math.max(high, r)
              counts[die] = counts[die] + 1
              local n = math.random(-3, 3)
              assert(n >= -3 and n <= 3 and n % 1 == 0)
            end
            return {low, high, counts}
        """
        low, high, counts = await Bench(random_seed=seed).value(source)
        assert 0 <= low < 0.01
        assert 0.99 < high < 1
        assert len(counts) == 6
        assert all(800 < count < 1200 for count in counts)  # 1000, with a standard deviation of 29

    @cases(
        ("call", "reason"),
        [
            ("math.random({})", "bad argument #1 to 'random' (number expected, got table)"),
            ("math.random(1, 'x')", "bad argument #2 to 'random' (number expected, got string)"),
            ("math.randomseed()", "bad argument #1 to 'randomseed' (number expected, got no value)"),
            ("math.randomseed({})", "bad argument #1 to 'randomseed' (number expected, got table)"),
        ],
    )
    async def test_wrong_arguments(self, call: str, reason: str) -> None:
        with pytest.raises(LuaError) as caught:
            await Bench().value(f"local x = {call}")
        assert caught.value.message == f"script.lua:1: {reason}"

    async def test_a_token_of_a_script_costs_little_memory(self) -> None:
        bench = Bench(random_seed=None, limits=LuaLimits(memory_bytes=2**20))
        assert await bench.value("local n = 0 for i = 1, 1e5 do n = n + math.random(2) end return n > 1.4e5")
