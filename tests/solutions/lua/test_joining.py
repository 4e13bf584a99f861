"""Local names of modules that the platform joins with scripts, and the module that it brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.core.errors import SettingsError
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.names import sharing_locals
from tests.cases import cases
from tests.solutions.lua.bench import Bench
from tests.solutions.rig import solution_rig


def shared(source: str) -> str:
    return sharing_locals(ScriptSource("a.lua", 1, source))


@cases(
    "source",
    ["", "x = 1", "do local inner = 1 end", "-- local commented", "function f() local inner end return f"],
)
def test_a_module_without_outermost_locals_stays_as_it_is(source: str) -> None:
    assert shared(source) == source


@cases(
    ("source", "shown", "value"),
    [
        ("local a = 1", "a", 1),
        ("local a = 1 -- é", "a", 1),
        ("local é = 1\nlocal a = 'é'\nreturn a -- é", "a", "é"),
        ("local function f(n) return n > 0 and f(n - 1) or 'end' end", "f(3)", "end"),
        ("local a, b = 1\nb = 2\na = a + b", "a * 10 + b", 32),
        ("local unset", "type(unset)", "nil"),
        ("local a = 1 local a = a + 1 return {a = a}", "a", 2),
        ("local a = 1\nif a == 2 then return 5 end", "a", 1),
        ("local _G = {} local a = 1", "a", None),
    ],
)
async def test_names_and_values_that_other_scripts_see(source: str, shown: str, value: object) -> None:
    bench = Bench()
    bench.host.add_module("module", shared(source))
    assert (await bench.host.run(bench.host.load("f", f"return {shown}"))).value == value


async def test_a_module_that_returns_still_returns_and_lines_stay() -> None:
    bench = Bench()
    bench.host.add_module(
        "module", shared("local a = 1\nlocal function f()\n  error('here')\nend\nreturn {a = a}")
    )
    function = bench.host.load("f", "local ok, text = pcall(f) return {require('module').a, text}")
    [a, text] = (await bench.host.run(function)).value
    assert (a, ":3: here" in text) == (1, True)


async def test_a_folder_of_the_newer_form_shares_no_locals(tmp_path: Path) -> None:
    for name, text in {
        "modules/words.lua": "local hidden = 1",
        "endpoints/a.lua": "--#ENDPOINT GET /a\nreturn type(hidden)",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    async with solution_rig() as lab:
        await lab.add(path=tmp_path)
        assert await (await lab.get("/a")).text() == "nil"


async def test_a_joined_module_that_is_no_lua_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "Solutionfile.json").write_text('{"modules": {"words": "words.lua"}}')
    (tmp_path / "words.lua").write_text("local a = 1\nreturn return\n")
    async with solution_rig() as lab:
        with pytest.raises(SettingsError, match=r"words\.lua:2"):
            await lab.add(path=tmp_path)


async def test_a_module_of_the_solution_goes_before_the_platforms() -> None:
    bench = Bench()
    bench.host.add_module("staging.mcrypto", "return {rand_bytes = function() return 'ours' end}")
    function = bench.host.load("f", "return require('staging.mcrypto').rand_bytes(5)")
    assert (await bench.host.run(function)).value == "ours"


async def test_a_change_of_the_platforms_module_is_not_seen_by_another_solution() -> None:
    benches = Bench(), Bench()
    source = (
        "local m = require('staging/mcrypto') local before = m.extra m.extra = 1 return before or 'nothing'"
    )
    for bench in benches:
        assert (await bench.host.run(bench.host.load("f", source))).value == "nothing"


async def test_random_bytes_repeat_with_a_seed_and_differ_from_run_to_run() -> None:
    source = "local m = require('staging.mcrypto') return m.b64url_encode(m.rand_bytes(32))"
    found = []
    for _ in range(2):
        bench = Bench(random_seed=7)
        function = bench.host.load("f", source)
        found.append([(await bench.host.run(function)).value for _ in range(3)])
    assert found[0] == found[1]
    assert len({*found[0]}) == 3
