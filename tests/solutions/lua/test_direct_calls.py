"""Service calls that Lua makes directly: a script leaves the same behind as one that is suspended for each call."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.context import Context
from labkit.services.calls import Services
from labkit.services.keystore import Keystore
from labkit.services.operation import WAITS, Caller, Parameters, Service, operation
from labkit.settings import FaultSettings
from labkit.solutions.lua import LuaError, LuaHost, LuaLimitError, LuaLimits
from tests.cases import cases
from tests.context import Entry, make_context, open_database
from tests.solutions.lua.bench import Bench

ACME = Caller("acme")
ELSEWHERE = FaultSettings(
    where="Keystore.*", solution=["other"], status=500
)  # which forces nothing but the old way


class Bell(Service):
    """Does something between two calls of a script."""

    name: ClassVar[str] = "Bell"

    def __init__(self, ring: Callable[[Context], object], context: Context) -> None:
        self._ring = ring
        self._context = context

    @operation
    async def ring(self, caller: Caller) -> None:
        """Do it."""
        self._ring(self._context)


class Counted(Services):
    """Counts the calls that a script made directly."""

    direct = 0

    def call_at_once(self, caller: Caller, service: str, operation: str, parameters: Parameters) -> object:
        result = super().call_at_once(caller, service, operation, parameters)
        self.direct += result is not WAITS
        return result


class Stand:
    """Scripts of the solution `acme` on a Keystore."""

    def __init__(self, context: Context, ring: Callable[[Context], object], **limits: Any) -> None:
        self.context = context
        self.keystore = Keystore(context)
        self.services = Counted(context, [self.keystore, Bell(ring, context)])
        self.host = LuaHost(
            services=self.services,
            write_log=self._log,
            now=context.clock.now,
            random_seed=7,
            limits=LuaLimits(**limits),
        )

    def _log(self, level: str, text: str, caller: Any) -> None:
        self.context.journal.record(level, "acme", text, cause=caller.cause)

    async def run(self, source: str) -> tuple[Any, ...]:
        """A script's result: its value, or its error with the traceback."""
        entry = self.context.journal.open("script", "acme", "script")
        function = self.host.load("script", source, file="script.lua", publish=False)
        try:
            return ((await self.host.run(function, context=Caller("acme", entry.sequence))).value,)
        except LuaError as error:
            return type(error), error.message, error.traceback
        finally:
            self.host.unload(function)


@asynccontextmanager
async def stand(
    *,
    direct: bool = True,
    ring: Callable[[Context], object] = lambda context: None,
    data: Path | None = None,
    **limits: Any,
) -> AsyncIterator[Stand]:
    context = make_context(Entry("acme"), Entry("other"), data=data, limits={"keystore_keys": 20})
    open_database(context)
    made = Stand(context, ring, **limits)
    await made.services.start()
    if not direct:
        context.faults.add(ELSEWHERE)
    try:
        yield made
    finally:
        made.host.close()
        await made.services.stop()
        context.database.close()


KEYS = st.sampled_from(["a", "b", "long " * 30, "bad\\n"])
VALUES = st.sampled_from(
    ["1", "'x'", "1.5", "true", "nil", "{}", "('y'):rep(300)", "math.random(9)", "os.time()", "n"]
)
COMMANDS = st.sampled_from(
    ["incrby", "lpush", "ltrim", "hset", "get", "del", "SADD", "smembers", "expire", "spop", "no"]
)
CALLS = st.one_of(
    st.builds("Keystore.set{{key = '{}', value = {}}}".format, KEYS, VALUES),
    st.builds("Keystore.get{{key = '{}', more = {}}}".format, KEYS, VALUES),
    st.builds(
        "Keystore.command{{key = '{}', command = '{}', args = {{{}, {}}}}}".format,
        KEYS,
        COMMANDS,
        VALUES,
        VALUES,
    ),
    st.builds("Keystore.mset{{values = {{{{key = '{}', value = {}}}}}}}".format, KEYS, VALUES),
    st.sampled_from(
        ["Keystore.list()", "Keystore.clear()", "Keystore.info()", "Keystore.nothing{}", "Bell.ring{}"]
    ),
    st.sampled_from(["Keystore.get{f = print}", "Keystore.get('text')", "Nothing.get{key = 1}"]),
)
STATEMENTS = st.one_of(
    st.builds("out[#out + 1] = {}".format, CALLS),
    st.builds("out[#out + 1] = {{pcall(function() return {} end)}}".format, CALLS),
    st.builds("out[#out + 1] = coroutine.wrap(function() return {} end)()".format, CALLS),
    st.builds("for i = 1, 3 do n = n + 1 out[#out + 1] = {} end".format, CALLS),
    st.builds("table.sort({{2, 1}}, function(x, y) out[#out + 1] = {} return x < y end)".format, CALLS),
    st.builds("out[#out + 1] = ('xy'):gsub('x', function() {} end)".format, CALLS),
    st.builds(
        "print(tostring(setmetatable({{}}, {{__tostring = function() {} return 'o' end}})))".format, CALLS
    ),
    st.sampled_from(
        [
            "n = n + 1",
            "print(n, math.random())",
            "local function f() error('no') end f()",
            "error({code = n})",
        ]
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(STATEMENTS, min_size=1, max_size=6), min_size=1, max_size=4))
async def test_any_script_leaves_the_same_behind(scripts: list[list[str]]) -> None:
    left = []
    for direct in (True, False):
        async with stand(direct=direct) as made:
            ends = [
                await made.run("local out = {} n = n or 0\n" + "\n".join(script) + "\nreturn out")
                for script in scripts
            ]
            left.append((ends, made.context.journal.canonical()))
            assert direct or not made.services.direct
    assert left[0] == left[1]


async def test_the_metrics_pattern_suspends_no_run() -> None:
    async with stand() as made:
        source = "for i = 1, 10 do Keystore.command{key = 'n', command = 'incrby', args = {1}} end"
        assert await made.run(source) == (None,)
        assert made.services.direct == 10


@cases("clock", ["free", "driven"])
async def test_on_a_driven_clock(clock: str) -> None:
    async with stand() as made:
        with made.context.clock.drive("a test") if clock == "driven" else nullcontext():
            assert await made.run("Keystore.set{key = 'k', value = 1} return Keystore.get{key = 'k'}") == (
                {"value": "1"},
            )
        assert made.services.direct == 2


async def test_a_fault_that_is_added_in_the_middle_of_a_run() -> None:
    def ring(context: Context) -> None:
        context.faults.add(FaultSettings(where="Keystore.get", status=503, first=1))

    async with stand(ring=ring) as made:
        source = """
            Keystore.set{key = "k", value = 1}
            local states = {}
            for i = 1, 4 do
              if i == 3 then Bell.ring{} end
              states[i] = Keystore.get{key = "k"}.status or 200
            end
            return states
        """
        assert await made.run(source) == ([200, 200, 503, 200],)


async def test_a_configuration_that_changes_in_the_middle_of_a_run() -> None:
    """Calls that were validated before are validated anew, with its parameters."""

    def ring(context: Context) -> None:
        context.configuration["acme"] = {"Keystore": {"match": "b"}}

    async with stand(ring=ring) as made:
        source = """
            Keystore.mset{values = {a = 1, b = 2}}
            local found = {}
            for i = 1, 4 do
              if i == 3 then Bell.ring{} end
              found[i] = #Keystore.list{count = 9}.keys
            end
            return found
        """
        assert await made.run(source) == ([2, 2, 1, 1],)
        assert made.services.direct == 5


async def test_a_store_that_waits_is_not_called_directly(tmp_path: Path) -> None:
    """A durable one answers once the value is committed; an outside one has to be asked."""
    async with stand(data=tmp_path / "lab.db") as made:
        assert await made.run("Keystore.set{key = 'k', value = 1} return Keystore.get{key = 'k'}") == (
            {"value": "1"},
        )
        assert made.services.direct == 0
    outside = make_context(keystore="redis://127.0.0.1:1")
    assert not Keystore(outside).is_immediate


async def test_a_walk_over_many_keys_is_not_called_directly() -> None:
    async with stand() as made:
        made.keystore._quota = None
        for number in (1, 2):
            values = {f"k{number} {at}": at for at in range(900)}
            await made.services.call(ACME, "Keystore", "mset", {"values": values})
            found = made.services.call_at_once(ACME, "Keystore", "info", Parameters(b"{}", json.loads))
            assert (found is WAITS) == (number == 2)
            assert await made.run("return Keystore.info{}.usage.keys") == (900 * number,)
        assert await made.run("Keystore.clear{} return Keystore.list{}.keys") == ([],)


@pytest.fixture(params=[True, False], ids=["directly", "suspended"])
def immediate(request: pytest.FixtureRequest) -> bool:
    """Whether the service of a bench is called directly."""
    return bool(request.param)


async def test_the_time_of_a_call_is_not_that_of_the_script(immediate: bool) -> None:
    async def busy(*_: object) -> object:
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass
        return {}

    bench = Bench(
        service=busy, immediate=immediate, limits=LuaLimits(cpu_seconds=0.05, cpu_total_seconds=0.1)
    )
    result = await bench.result("for i = 1, 10 do Foo.bar{} end return 'done'")
    assert result.value == "done"
    assert result.cpu_seconds < 0.05


async def test_the_limit_counts_between_two_calls_and_over_the_whole_run(immediate: bool) -> None:
    async def answer(*_: object) -> object:
        return {}

    spin = "local n = 0 for i = 1, 3e5 do n = n + i % 7 end Foo.bar{}"
    limits = LuaLimits(cpu_seconds=0.5, cpu_total_seconds=0.05)
    bench = Bench(service=answer, immediate=immediate, limits=limits)
    with pytest.raises(LuaLimitError, match=r"CPU limit: 0\.\d+ s in one run, more than 0\.05 s"):
        await bench.value(f"for k = 1, 1000 do {spin} end")
    assert 1 < len(bench.calls) < 1000
    bench = Bench(service=answer, immediate=immediate, limits=LuaLimits(cpu_seconds=0.1))
    result = await bench.result(f"for k = 1, 60 do {spin} end return 'done'")
    assert result.value == "done"
    assert result.cpu_seconds > 0.1


@cases("size", [100, 1_000_000, 3_000_000, 6_900_000, 8_000_000])
async def test_a_result_that_may_not_fit(size: int) -> None:
    """It arrives by the way that lifts the memory limit; the service is called once."""
    ends = []
    for immediate in (True, False):

        async def answer(*_: object) -> object:
            return {"value": "x" * size}

        limits = LuaLimits(memory_bytes=8 * 2**20, value_bytes=7 * 2**20)
        bench = Bench(service=answer, immediate=immediate, limits=limits)
        try:
            ends.append(await bench.value("local r = Foo.bar{} return #r.value"))
        except LuaError as error:
            ends.append(str(error))
        assert len(bench.calls) == 1
        assert await bench.value("return 1") == 1
    assert ends[0] == ends[1]


async def test_an_exception_of_the_platform_ends_the_run(immediate: bool) -> None:
    class Broken(BaseException):
        pass

    async def broken(*_: object) -> object:
        raise Broken

    bench = Bench(service=broken, immediate=immediate)
    with pytest.raises(Broken):
        await bench.value("pcall(function() Foo.bar{} end) reached = true")
    assert await bench.value("return reached") is None
