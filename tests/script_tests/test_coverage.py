"""Coverage of scripts: lines and counts as another counter has them, over all that a test runs, only where asked."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from labkit import Lab
from labkit.core.errors import LabError, LabWarning
from labkit.script_tests.coverage import FileCoverage, ScriptCoverage, page_names
from labkit.script_tests.results import ScriptTestResults
from labkit.script_tests.state import BlockingState
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.errors import LuaError, LuaLimitError
from labkit.solutions.lua.runtime import luajit
from tests.rig import written

# Another counter: a state of lupa's without labkit's prelude, with a hook of its own.
COUNTER = b"""
return function(text, name)
  jit.off()
  local counts = {}
  local chunk = assert(load("return function() " .. text .. "\\nend", "@" .. name))()
  debug.sethook(function(_, line)
    if debug.getinfo(2, "S").source == "@" .. name then counts[line] = (counts[line] or 0) + 1 end
  end, "l")
  pcall(chunk)
  debug.sethook()
  local flat = {}
  for line, count in pairs(counts) do flat[#flat + 1] = line .. "=" .. count end
  return table.concat(flat, ",")
end
"""
SCRIPTS = {
    "loops": "local a = 0\nfor i = 1, 3 do\n  a = a + i\nend\nfor _, v in ipairs({1, 2}) do\n  a = v\nend\n"
    "while a < 5 do a = a + 1 end\nrepeat\n  a = a - 1\nuntil a < 2\ngoto out\na = 7\n::out::\nlocal b = a\n",
    "nested": "local function outer(n)\n  local function inner()\n    return n\n  end\n  return function()\n"
    "    return inner() + 1\n  end\nend\nlocal f = outer(1)\nf()\nf()\nlocal function never()\n  local x = 1\n"
    "  return function()\n    return x\n  end\nend\n",
    "early returns": "local function sign(n)\n  if n > 0 then\n    return 1\n  elseif n < 0 then\n    return -1\n"
    "  else\n    return 0\n  end\nend\nsign(3)\nsign(0)\ndo return sign(1) end\nlocal after = 1\n",
    "errors": "local ok = pcall(function()\n  local a = 1\n  error('x')\n  a = 2\nend)\nxpcall(function()\n"
    "  local b = nil\n  b.c = 1\nend, function(e)\n  return e\nend)\nlocal t = setmetatable({}, {__index = function()\n"
    "  return 1\nend})\nlocal x = t.y\nerror('end')\nx = 1\n",
    "coroutines": "local made = coroutine.wrap(function(a)\n  local b = coroutine.yield(a)\n"
    "  local inner = coroutine.create(function()\n    coroutine.yield(b)\n    b = 3\n  end)\n"
    "  coroutine.resume(inner)\n  coroutine.resume(inner)\n  return b\nend)\nmade(1)\nmade(2)\n"
    "local left = coroutine.wrap(function()\n  coroutine.yield()\n  local never = 1\nend)\nleft()\n",
    "expressions": "local t = {\n  1,\n  f = function()\n    return 2\n  end,\n  g =\n    3,\n}\n"
    "local s = ('a')\n  .. 'b'\n"
    "  .. t.f()\nlocal u = t.f() and\n  t.g or\n  nil\n",
}


# labkit's own pcall and coroutine functions are Lua: coming back to a line from them counts again.
NATIVE = ("errors", "coroutines")
MISSED = {  # lines that can run and did not
    "loops": set(),
    "nested": {13, 15, 16},
    "early returns": {5},
    "errors": {4, 17},
    "coroutines": {15},
    "expressions": {14},
}


def _state() -> BlockingState:
    return BlockingState(lambda *_: None, write=lambda _: None, now=lambda: 0.0, seed="a")


@pytest.mark.parametrize("name", SCRIPTS)
def test_counts_are_those_of_another_counter(name: str) -> None:
    """The coverage of each script has the lines and counts of a plain hook, and the lines that did not run."""
    text, file = SCRIPTS[name], "ä <b>\"&'\n=.lua"
    state = _state()
    state.cover()
    if name == "errors":
        with pytest.raises(LuaError, match="end"):
            state.run(text, file)
    else:
        state.run(text, file)
    lua = luajit().LuaRuntime(encoding=None)
    found = lua.execute(COUNTER)(text.encode(), file.encode()).decode()
    expected = {int(line): int(count) for line, count in (each.split("=") for each in found.split(","))}
    end = text.count("\n") + 2  # where the wrapper of a script ends
    expected.pop(end, None)
    counts = state.covered()[file]
    counts.pop(end, None)
    assert counts.keys() == expected.keys()
    if name not in NATIVE:
        assert counts == expected
    lines = state.lines(ScriptSource(file, 1, text))
    assert counts.keys() <= lines
    assert lines - counts.keys() == MISSED[name]


def test_the_cpu_limit_holds_while_lines_are_counted() -> None:
    state = _state()
    state.cover()
    with pytest.raises(LuaLimitError) as raised:
        state.run("while true do\n  pcall(function()\n    while true do end\n  end)\nend\n", "a.lua")
    assert raised.value.limit == "cpu"
    counts = state.covered()["a.lua"]
    assert counts[3] > 1000
    assert state.run("return 1", "b.lua") == 1
    assert state.covered()["b.lua"] == {1: 1}  # counted on after the limit


FOLDER = {
    "modules/units.lua": "local units = {}\nfunction units.double(n)\n  return 2 * n\nend\nfunction units.never()\n"
    "  return 1\nend\nreturn units\n",
    'endpoints/ä <b>"&.lua': "-- before\n--#ENDPOINT GET /a\nlocal units = require('units')\n"
    "if request.parameters.x then\n  return units.double(2)\nend\nreturn {}\n--#ENDPOINT GET /b\nreturn 1\n"
    "--#ENDPOINT WEBSOCKET /w\n"
    "if websocketInfo.type == 'data' then\n  response.message = websocketInfo.message\nend\n",
    "services/device_datapoint.lua": "local n = 1\nKeystore.set{key = 'a', value = n}\nif n > 1 then\n  n = 2\nend\n",
    "init.lua": "local first = 1\nKeystore.set{key = 'init', value = first}\n",
    "solution.yaml": "formatversion: 1.0.0\ninfo: {name: a}\nendpoints: {}\nmodules: {}\nservices: {}\nassets: {}\n"
    "init_script: init.lua\n",
    "assets/asset.lua": "return 1\n",
    "spare.lua": "local a = 1\nreturn a\n",
    "broken.lua": "local\n",
    "specs/resources.yaml": "power: {format: string}\n",
    "tests/a.lua": "local units = require('units')\nit('a', function() solution.get('/a') solution.get('/b') end)\n"
    "it('restarts', function() solution.get('/b') lab.restart() solution.get('/b') end)\n"
    "it('writes', function() lab.device('t-1'):write{power = 'on'} end)\n"
    "it('talks', function() local s = solution.websocket('/w') s.send(s, 'x') assert.equal('x', s.receive()) end)\n"
    "it('doubles', function() assert.equal(4, units.double(2)) end)\nit('fails', function() assert.equal(1, 2) end)\n",
}
ENDPOINTS = 'endpoints/ä <b>"&.lua'
RAN = {
    ENDPOINTS: {3: 1, 4: 1, 5: 0, 7: 1, 9: 3, 11: 2, 12: 1},
    "broken.lua": {},
    "init.lua": {1: 1, 2: 1},
    "spare.lua": {1: 0, 2: 0},
}


def made(folder: Path, **others: str) -> Path:
    return written(folder, {**FOLDER, **others})


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with two solutions that have the same files."""
    with Lab(seed=1) as lab, warnings.catch_warnings():
        warnings.simplefilter("ignore", LabWarning)  # files that nothing reads
        product = lab.product("lamp", resources={"power": "string"})
        for name in ("first", "second"):
            lab.solution(
                name, products=[product] if name == "first" else [], path=made(tmp_path_factory.mktemp(name))
            )
        yield lab


@pytest.fixture(scope="module")
def results(lab: Lab) -> ScriptTestResults:
    return lab.solution("first").test(coverage=True, progress=False)


@pytest.fixture(scope="module")
def coverage(results: ScriptTestResults) -> ScriptCoverage:
    assert results.coverage is not None
    return results.coverage


def test_lines_of_all_kinds_of_scripts_count_over_all_tests(
    results: ScriptTestResults, coverage: ScriptCoverage
) -> None:
    assert [each.status for each in results] == ["passed"] * 5 + ["failed"]
    found = {each.file: dict(each.counts) for each in coverage}
    assert list(found) == sorted({*RAN, "modules/units.lua", "services/device_datapoint.lua"})
    assert {file: found[file].keys() for file in RAN} == {file: RAN[file].keys() for file in RAN}
    assert {file: {line for line in each if each[line]} for file, each in found.items()} == {
        ENDPOINTS: {3, 4, 7, 9, 11, 12},
        "broken.lua": set(),
        "init.lua": {1, 2},  # ran when the solution was set up
        "modules/units.lua": {1, 2, 3, 4, 5, 7, 8},
        "services/device_datapoint.lua": {1, 2, 3},
        "spare.lua": set(),
    }
    assert found[ENDPOINTS][9] == 3  # one of them after a restart
    assert found["init.lua"][1] == 1
    assert [each.note for each in coverage if each.file == "spare.lua"] == ["the solution does not load it"]
    [broken] = [each.note for each in coverage if each.file == "broken.lua"]
    assert broken.startswith("the solution does not load it, and it does not compile: broken.lua:")


def test_another_solution_with_the_same_files_has_counts_of_its_own(
    lab: Lab, coverage: ScriptCoverage
) -> None:
    before = [dict(each.counts) for each in coverage]
    found = lab.solution("second").test("doubles", coverage=True, progress=False).coverage
    assert found is not None
    [endpoints] = [each for each in found if each.file == ENDPOINTS]
    assert endpoints.ran == 0
    assert [dict(each.counts) for each in coverage] == before


def test_later_tests_add_to_a_coverage(lab: Lab, coverage: ScriptCoverage) -> None:
    more = lab.solution("first").test("restarts", coverage=coverage, progress=False).coverage
    assert more is not None
    old, new = ({each.file: each.counts for each in found} for found in (coverage, more))
    assert new[ENDPOINTS][9] == old[ENDPOINTS][9] + 2
    assert new["init.lua"] == old["init.lua"]  # the set-up is not run twice


def test_nothing_is_measured_unless_asked(lab: Lab) -> None:
    solution = lab.solution("first")
    assert solution.test("doubles", progress=False).coverage is None
    assert solution.get("/b").json() == 1


def test_pages_can_be_read_offline_and_show_each_line(coverage: ScriptCoverage, tmp_path: Path) -> None:
    index = coverage.write(tmp_path / "a" / "b")
    pages = {file.name: file.read_text() for file in index.parent.glob("*.html")}
    assert len(pages) == len(coverage) + 1
    for page in pages.values():
        assert not re.search(r"<script|<link|@import|url\(|src=|https?:", page)
        assert "prefers-color-scheme: dark" in page
        assert "<b>&quot;" not in page
    links = re.findall(r'<td class="name"><a href="([^"]+)">([^<]*)</a>', pages["index.html"])
    by_file = {unescape(name): target for target, name in links}
    assert by_file.keys() == {each.file for each in coverage}
    page = pages[by_file[ENDPOINTS]]
    rows = re.findall(
        r'<tr id="L(\d+)"(?: class="(\w+)")?>.*?<td class="c">(\d*)</td><td class="t">(.*?)</td></tr>', page
    )
    assert [unescape(text) for *_, text in rows] == FOLDER[ENDPOINTS].rstrip("\n").split("\n")
    marks = {int(line): (mark, count) for line, mark, count, _ in rows}
    assert marks[1] == ("", "")
    assert marks[5] == ("missed", "0")
    assert marks[9] == ("hit", "3")


def test_names_of_pages_are_unique_and_safe() -> None:
    names = page_names(["a/b.lua", "a_b.lua", "A/B.lua", "ä.lua", "ö.lua", "../x.lua", "index.lua"])
    assert len({each.lower() for each in names}) == 7
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+\.lua(-\d+)?\.html", each) for each in names)
    assert "index.html" not in names


def test_lcov_has_a_record_for_each_file(coverage: ScriptCoverage, tmp_path: Path) -> None:
    coverage.write(tmp_path)
    records = (tmp_path / "lcov.info").read_text().split("end_of_record\n")
    [endpoints] = [each for each in records if ENDPOINTS in each]
    assert f"SF:{coverage[0].folder}" in endpoints
    assert "DA:5,0\nDA:7,1\nDA:9,3\n" in endpoints
    assert "LF:7\nLH:6\n" in endpoints


def test_a_folder_that_cannot_be_written_is_an_error(coverage: ScriptCoverage, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(LabError, match="cannot be made"):
        coverage.write(tmp_path / "a")


def test_tables_say_what_is_missed(coverage: ScriptCoverage) -> None:
    assert 'endpoints/ä <b>"&.lua              6 of     7 lines   85 %  5' in repr(coverage).splitlines()
    assert repr(coverage).splitlines()[-1].startswith("all files")
    assert "&lt;b&gt;" in coverage._repr_html_()
    frame = coverage.frame().set_index("file")
    assert frame.loc[ENDPOINTS, "missed"] == "5"
    assert frame["ran"].sum() == coverage.ran
    assert json.loads(json.dumps(coverage.plain()))["lines"] == coverage.lines


def test_ranges_join_lines_that_follow_each_other() -> None:
    def ranges(*counts: int) -> str:
        lines = dict(zip((1, 2, 5, 6, 9), counts, strict=True))
        return FileCoverage(Path(), "a.lua", lines, "").missed_ranges

    assert ranges(0, 0, 1, 0, 1) == "1-2, 6"
    assert ranges(0, 0, 0, 0, 0) == "1-9"
    assert ranges(1, 1, 1, 1, 0) == "9"
    assert ranges(1, 1, 1, 1, 1) == ""


def test_modules_of_an_older_project_count_in_their_own_files(tmp_path: Path) -> None:
    """They are joined with the scripts, and have names that are not those of their files."""
    for name, text in {
        "Solutionfile.json": '{"modules": {"helper": "lib/one.lua"}, "routes": "lib/routes.lua"}',
        "lib/one.lua": "local function twice(n)\n  return 2 * n\nend\nlocal function never()\n  return 1\nend\n",
        "lib/routes.lua": "--#ENDPOINT GET /a\nreturn twice(2)\n",
        "tests/a.lua": "it('a', function() assert.equal('4', solution.get('/a').body) end)\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with Lab(seed=1) as lab:
        results = lab.solution("acme", path=tmp_path).test(coverage=True, progress=False)
    assert [each.status for each in results] == ["passed"]
    assert results.coverage is not None
    missed = {each.file: each.missed for each in results.coverage}
    assert missed == {"lib/one.lua": [5], "lib/routes.lua": []}
