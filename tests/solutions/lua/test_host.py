"""Loading and running scripts: arguments, results, shared globals, modules, and errors with their place."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys

import pytest

from labkit.core.errors import LabError
from labkit.solutions.lua import LuaError, LuaSyntaxError
from labkit.solutions.lua.runtime import luajit
from tests.cases import cases
from tests.solutions.lua.bench import Bench


async def test_arguments_and_the_value() -> None:
    bench = Bench()
    function = bench.host.load("add", "return event.a + more", ["event", "more"])
    assert function.name == "add"
    result = await bench.host.run(function, {"a": 2}, 3)
    assert result.value == 5
    assert result.readback == {}
    assert 0 < result.cpu_seconds < 0.2


async def test_no_result_is_none_and_only_the_first_value_counts() -> None:
    bench = Bench()
    assert await bench.value("") is None
    assert await bench.value("return") is None
    assert await bench.value("return 1, 2, 3") == 1


async def test_a_missing_argument_is_nil() -> None:
    bench = Bench()
    function = bench.host.load("f", "return tostring(event) .. tostring(context)", ["event", "context"])
    assert (await bench.host.run(function, 1)).value == "1nil"


class TestReadback:
    """The response of an endpoint: fields set by the script, or a new table in its place."""

    @cases(
        ("source", "value", "response"),
        [
            ("response.code = 201", None, {"headers": {}, "code": 201}),
            ("response.headers['x-y'] = 'z' return 1", 1, {"headers": {"x-y": "z"}}),
            ("response = {code = 404, message = 'no'}", None, {"code": 404, "message": "no"}),
            ("response = nil", None, None),
            ("if request.a then response = request return request end", {"a": 1}, {"a": 1}),
            ("return 1, 2, 3", 1, {"headers": {}}),
        ],
    )
    async def test_readback(self, source: str, value: object, response: object) -> None:
        bench = Bench()
        function = bench.host.load(
            "get", source, ["request", "response"], readback=["response"], publish=False
        )
        result = await bench.host.run(function, {"a": 1}, {"headers": {}})
        assert result.value == value
        assert result.readback == {"response": response}

    async def test_several(self) -> None:
        bench = Bench()
        function = bench.host.load("f", "a, b = b, a return 0", ["a", "b"], readback=["a", "b"])
        result = await bench.host.run(function, 1, 2)
        assert (result.value, result.readback) == (0, {"a": 2, "b": 1})

    async def test_each_run_has_its_own_response(self) -> None:
        async def slow(*_: object) -> object:
            await asyncio.sleep(0)
            return {}

        bench = Bench(service=slow)
        source = "response.n = request Keystore.get{} response.m = request"
        function = bench.host.load("f", source, ["request", "response"], readback=["response"])
        results = await asyncio.gather(*(bench.host.run(function, n, {}) for n in range(20)))
        assert [result.readback["response"] for result in results] == [{"n": n, "m": n} for n in range(20)]


async def test_aliases_name_the_same_table() -> None:
    bench = Bench()
    function = bench.host.load(
        "f", "operation.x = 1 return event.x", ["event"], aliases={"operation": "event"}
    )
    assert (await bench.host.run(function, {})).value == 1


async def test_scripts_share_globals_and_call_one_another() -> None:
    bench = Bench()
    bench.host.load("handle_user_account", "count = (count or 0) + event.by return count", ["event"])
    caller = bench.host.load("other", "return handle_user_account({by = 2})", [])
    assert (await bench.host.run(caller)).value == 2
    assert (await bench.host.run(caller)).value == 4
    assert await bench.value("return count") == 4


async def test_private_scripts_are_not_globals() -> None:
    bench = Bench()
    bench.host.load("hidden", "return 1", publish=False)
    assert await bench.value("return type(rawget(_G, 'hidden'))") == "nil"


async def test_solutions_share_nothing() -> None:
    one, two = Bench(), Bench()
    await one.value("leak = 1 string.leak = 1")
    assert await two.value("return tostring(leak) .. tostring(string.leak)") == "nilnil"


async def test_an_unloaded_script_is_gone() -> None:
    bench = Bench()
    function = bench.host.load("f", "return 1")
    bench.host.unload(function)
    bench.host.unload(function)
    assert await bench.value("return type(rawget(_G, 'f'))") == "nil"
    with pytest.raises(LabError, match="unloaded"):
        await bench.host.run(function)


async def test_a_script_loaded_again_replaces_the_global() -> None:
    bench = Bench()
    old = bench.host.load("f", "return 1")
    bench.host.load("f", "return 2")
    bench.host.unload(old)
    assert await bench.value("return f()") == 2


@cases("name", ["a b", "a-b", "1a", "", "a)end--", "a\n"])
def test_invalid_names_are_refused(name: str) -> None:
    host = Bench().host
    with pytest.raises(LabError, match="cannot be a name"):
        host.load(name, "")
    with pytest.raises(LabError, match="cannot be a name"):
        host.load("f", "", [name])
    with pytest.raises(LabError, match="cannot be a name"):
        host.load("f", "", ["a"], aliases={name: "a"})
    with pytest.raises(LabError, match="cannot be a name"):
        host.load("f", "", ["a"], readback=[name])


class TestErrors:
    """Errors have the script and the author's line number."""

    async def test_runtime_error(self) -> None:
        with pytest.raises(LuaError) as caught:
            await Bench().value("local x = 1\nlocal function inner()\n  error('boom')\nend\ninner()")
        assert str(caught.value) == "script.lua:3: boom"
        lines = caught.value.traceback.splitlines()
        assert lines[0] == "stack traceback:"
        assert "script.lua:3: in function 'inner'" in caught.value.traceback
        assert "script.lua:5: in function" in caught.value.traceback
        assert "labkit" not in caught.value.traceback

    async def test_offset_of_a_file_with_many_routes(self) -> None:
        bench = Bench()
        function = bench.host.load(
            "f", "--#ENDPOINT GET /x\nerror('boom')", file="endpoints/x.lua", first_line=41
        )
        with pytest.raises(LuaError, match=r"^endpoints/x\.lua:42: boom$"):
            await bench.host.run(function)

    async def test_with_readback_too(self) -> None:
        bench = Bench()
        function = bench.host.load("f", "error('boom')", ["a"], readback=["a"], first_line=7)
        with pytest.raises(LuaError, match=r"^f:7: boom$"):
            await bench.host.run(function)

    @cases("readback", [(), ("a",)])
    @cases(
        ("source", "text"),
        [
            ("local x = error('boom')\nreturn x", "f:7: boom"),
            (
                "local function g() return nil + 1 end\n\nreturn g()",
                "f:7: attempt to perform arithmetic on a nil value",
            ),
            ("\nreturn error('boom')", "boom"),  # Lua itself does not know the calling line
            ("local function g()\n return error('boom')\nend\nreturn g()", "boom"),
            ("return Keystore.get(1, 2)", "arguments must be a table with names: Keystore.get{name = value}"),
        ],
    )
    async def test_an_error_in_a_tail_call_has_its_own_line_or_none(
        self, readback: tuple[str, ...], source: str, text: str
    ) -> None:
        bench = Bench()
        function = bench.host.load("f", source, ["a"], readback=readback, first_line=7)
        with pytest.raises(LuaError) as caught:
            await bench.host.run(function)
        assert str(caught.value) == text

    @cases(
        ("source", "text"),
        [
            ("error({code = 500})", '{"code":500}'),
            ("error(setmetatable({}, {__tostring = function() return 'mine' end}))", "mine"),
            ("error(setmetatable({a = 1}, {__tostring = function() error('x') end}))", '{"a":1}'),
            ("error(setmetatable({a = 1}, {__tostring = function() Keystore.get{} end}))", '{"a":1}'),
            ("error()", "(error object is a nil)"),
            ("error(print)", "(error object is a function)"),
            ("error(42)", "script.lua:1: 42"),
            ("error('a', 0)", "a"),
            ("return undefined.x", "script.lua:1: attempt to index global 'undefined' (a nil value)"),
            ("local x = ('x'):find('[')", "script.lua:1: malformed pattern (missing ']')"),
            ("return unpack({}, 1, 1e8)", "too many results to unpack"),
            (
                "local a = math.floor({})",
                "script.lua:1: bad argument #1 to 'floor' (number expected, got table)",
            ),
        ],
    )
    async def test_texts(self, source: str, text: str) -> None:
        with pytest.raises(LuaError) as caught:
            await Bench().value(source)
        assert caught.value.message == text

    @cases(
        ("source", "line", "message"),
        [
            ("x = = 1", 10, "unexpected symbol near '='"),
            ("\n\nif true then", 12, "'end' expected near '<eof>'"),
            ("end", 10, "'<eof>' expected near 'end'"),
            ("end function f()", 10, "'<eof>' expected near 'end'"),
            ("--[[ open", 10, "unfinished long comment near '<eof>'"),
            ("\x1bLJ\x02", 10, None),
        ],
    )
    def test_syntax(self, source: str, line: int, message: str | None) -> None:
        with pytest.raises(LuaSyntaxError) as caught:
            Bench().host.load("f", source, file="dir/f.lua", first_line=10)
        assert caught.value.name == "dir/f.lua"
        if message is not None:
            assert (caught.value.line, caught.value.message) == (line, message)
            assert str(caught.value) == f"dir/f.lua:{line}: {message}"

    @cases("source", ["return 1 -- end", "--[[ x ]] return 1", "do return 1 end", "return 1;"])
    async def test_bodies_that_need_care_when_wrapped(self, source: str) -> None:
        assert await Bench().value(source) == 1


class TestModules:
    """Modules: the old style sets a global table, the new one returns a table for require."""

    async def test_both_styles(self) -> None:
        modules = {
            "util": "Util = {} function Util.twice(x) return 2 * x end",
            "dir.math": "local M = {} function M.half(x) return x / 2 end return M",
        }
        bench = Bench(modules=modules)
        source = "return Util.twice(3) + require('dir.math').half(4) + require('dir/math').half(2)"
        assert await bench.value(source) == 9

    async def test_they_run_once_before_the_first_script(self) -> None:
        bench = Bench(modules={"a": "runs = (runs or 0) + 1", "b": "require('a') require('a') second = runs"})
        assert await bench.value("require('a') return {runs, second}") == [1, 1]

    async def test_a_module_may_call_services(self) -> None:
        async def slow(*_: object) -> object:
            await asyncio.sleep(0)
            return {"value": "v"}

        bench = Bench(modules={"a": "Loaded = Keystore.get{key = 'k'}.value"}, service=slow)
        function = bench.host.load("f", "return Loaded")
        assert [(await bench.host.run(function)).value for _ in range(5)] == ["v"] * 5
        assert len(bench.calls) == 1

    async def test_the_result_of_require(self) -> None:
        bench = Bench(modules={"deep.named": "named = 5", "nothing": "", "no": "return false"})
        source = "return {require('deep.named'), require('nothing'), require('no')}"
        assert await bench.value(source) == [5, True, False]

    async def test_require_of_an_unknown_module(self) -> None:
        with pytest.raises(LuaError, match=r"^script\.lua:1: module 'x' not found$"):
            await Bench().value("local x = require('x') return x")

    async def test_a_cycle(self) -> None:
        bench = Bench(modules={"a": "require('b')", "b": "require('a')"})
        with pytest.raises(LuaError, match=r"modules require one another in a loop: 'a'"):
            await bench.value("return 1")

    async def test_an_error_in_a_module_ends_the_run_and_the_next_run_tries_again(self) -> None:
        bench = Bench(modules={"a": "tries = (tries or 0) + 1 if tries < 3 then error('not yet') end"})
        for _ in range(2):
            with pytest.raises(LuaError, match=r"^modules/a\.lua:1: not yet$"):
                await bench.value("return tries")
        assert await bench.value("return tries") == 3

    def test_a_module_that_does_not_compile(self) -> None:
        with pytest.raises(LuaSyntaxError, match=r"^modules/dir/a\.lua:2: "):
            Bench(modules={"dir.a": "\n)"})

    async def test_added_and_replaced_later(self) -> None:
        bench = Bench(modules={"a": "A = 1"})
        assert await bench.value("return A") == 1
        bench.host.add_module("a", "A = 2")
        bench.host.add_module("b", "return 3")
        assert await bench.value("return {A, require('b')}") == [2, 3]

    async def test_the_arguments_of_a_module(self) -> None:
        assert await Bench(modules={"a.b": "name = ..."}).value("return name") == "a.b"


class TestClose:
    async def test_a_closed_host_raises(self) -> None:
        bench = Bench()
        function = bench.host.load("f", "")
        bench.host.close()
        bench.host.close()
        with pytest.raises(LabError, match="closed"):
            await bench.host.run(function)
        with pytest.raises(LabError, match="closed"):
            bench.host.load("g", "")

    async def test_a_waiting_run_ends_with_its_answer(self) -> None:
        answer = asyncio.get_running_loop().create_future()

        async def wait(*_: object) -> object:
            return await answer

        bench = Bench(service=wait)
        run = asyncio.create_task(bench.value("Keystore.get{} reached = true"))
        await asyncio.sleep(0)
        bench.host.close()
        answer.set_result({})
        with pytest.raises(LabError, match="closed"):
            await run

    async def test_the_runtime_is_freed(self) -> None:
        def alive() -> int:
            gc.collect()
            return sum(type(thing).__name__ == "LuaRuntime" for thing in gc.get_objects())

        before = alive()
        bench = Bench()
        await bench.value("return 1")
        assert alive() == before + 1
        bench.host.close()
        assert alive() == before


async def test_an_exception_of_write_log_is_raised_and_affects_no_other_run() -> None:
    bench = Bench()

    def broken(*_: object) -> None:
        raise OSError("disk full")

    bench.host._write_log = broken
    with pytest.raises(OSError, match="disk full"):
        await bench.value("return pcall(print, 'x')")
    assert await bench.value("return 1") == 1


def test_luajit_is_loaded_at_first_use() -> None:
    code = "import sys, labkit.solutions.lua; sys.exit(any('lupa' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_allocator_s_limit_works_on_this_lupa() -> None:
    """All memory limits rely on it, and lupa's documentation says that 64-bit LuaJIT has none."""
    lupa = luajit()

    lua = lupa.LuaRuntime(max_memory=0)
    counted = lua.eval("collectgarbage('count') * 1024")
    assert abs(lua.get_memory_used(total=True) - counted) < 1000
    lua.set_max_memory(lua.get_memory_used(total=True) + 1_000_000, total=True)
    lua.execute("text = ('x'):rep(100000)")
    with pytest.raises(lupa.LuaMemoryError):
        lua.execute("text = ('y'):rep(1000000)")
