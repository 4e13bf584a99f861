"""Mistakes that the texts of scripts show, without false findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.solutions.checking.listing import list_files, stub
from labkit.solutions.checking.script_review import missing_calls, of_calls, of_globals, of_modules
from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.scripts import EndpointScript, ScriptSource
from labkit.solutions.lua.syntax import usage

SERVICES: dict[str, set[str]] = {"Keystore": {"get", "set"}, "User": {"listUsers"}}


def folder(*texts: str, **modules: str) -> SolutionFolder:
    scripts = [ScriptSource(f"{number}.lua", 1, text) for number, text in enumerate(texts)]
    return SolutionFolder(
        endpoints=[EndpointScript("GET", "/", "text/plain", each) for each in scripts],
        modules={name: ScriptSource(f"{name}.lua", 1, text) for name, text in modules.items()},
    )


def found(*texts: str) -> list[str]:
    """Return the warnings about operations, without those about services."""
    return [str(each) for each in of_calls(folder(*texts), SERVICES) if "has no operation" in each.text]


def test_a_colon_instead_of_a_dot_is_found_and_does_not_hide_other_calls() -> None:
    text = "local name = ('a'):upper()\nKeystore:get{key = name}\nKeystore.gt{}\nlocal User = {} User:listUsers()"
    assert [str(each) for each in of_calls(folder(text), SERVICES)] == [
        "0.lua:3: Keystore has no operation 'gt'; did you mean get?",
        "0.lua:2: expected a dot instead of the colon: Keystore.get",
    ]
    own = "Keystore = {get = function(self) end}\nKeystore:get()"
    assert list(of_calls(folder(own), SERVICES)) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Keystore.gt{key = 'a'}", 1),
        ("Keystore.gt({key = 'a'})", 1),
        ("Keystore.gt'a'", 1),
        ("Keystore.gt [[a]]", 1),
        ("local a = 1\n\nreturn Keystore . gt {}", 3),
        ("--[[ one\ntwo ]] Keystore.gt()", 2),
        ("local text = [==[\n]] ]=]\n]==] Keystore.gt()", 3),
        ("print('it\\'s', \"a \\\" b\") Keystore.gt()", 1),
        ("local a = 'a\\\nb'\nKeystore.gt()", 3),
        ("return 1 ..Keystore.gt()", 1),
        ("if a ~= b and c == Keystore.gt() then end", 1),
        ("local ok = Keystore.get ~= nil\nKeystore.gt()", 2),
        ("return 0x1p-3 + 1e+5 - .5 .. Keystore.gt()", 1),
    ],
)
def test_an_unknown_operation_is_found_with_its_line(text: str, line: int) -> None:
    assert found(text) == [f"0.lua:{line}: Keystore has no operation 'gt'; did you mean get?"]


@pytest.mark.parametrize(
    "text",
    [
        "Keystore.get{} User.listUsers()",
        "-- Keystore.gt()",
        "--[[ Keystore.gt() ]]",
        "--[==[ Keystore.gt() ]] ]==]",
        "print('Keystore.gt()')",
        "print([[\nKeystore.gt()]])",
        "print('\\'Keystore.gt()')",
        "mine.Keystore.gt()",
        "mine:Keystore()",
        "if Keystore.gt then end",
        "pcall(Keystore.gt, {})",
        "keystore.gt() Other.gt() MyKeystore.gt() Keystore2.gt()",
        "local Keystore = wrapped(Keystore)\nKeystore.gt()",
        "function Keystore.gt() end",
        "extend(Keystore)\nKeystore.gt()",
        "for name, Keystore in pairs(all) do Keystore.gt() end",
        "_G.Keystore = mine\nKeystore.gt()",
        "_G['Keystore'] = mine\nKeystore.gt()",
        "Keystore.gt = function() end\nKeystore.gt()",
        "local all = {Keystore = mine}\nKeystore.gt()",
        "Keystore[name]()\nKeystore.gt()",
        "",
        "Keystore",
        "Keystore.",
        "Keystore.gt",
        "'",
        "[[",
        "--[[",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert found(text) == []


def test_what_one_script_adds_counts_in_all() -> None:
    assert found("Keystore.gt()", "Keystore.gt = mine") == []
    assert found("User.list()", "extend(Keystore) Keystore.gt()") == [
        "0.lua:1: User has no operation 'list'; did you mean listUsers?"
    ]


def test_lines_are_those_of_the_file() -> None:
    part = SolutionFolder(init_scripts=[ScriptSource("a.lua", 10, "\n\nKeystore.gt()")])
    assert [(each.file, each.line) for each in of_calls(part, SERVICES)] == [("a.lua", 12)]


@pytest.mark.parametrize(
    ("text", "services"),
    [
        ("Twilio.post{To = 1} Twilio.post{} Slack.say()", ["Twilio", "Slack"]),
        ("murano.services.Twilio.post()", ["Twilio"]),
        ("return function(Twilio) Twilio.post() end", []),
        ("local function Twilio() end\nTwilio.post()", []),
        ("for Twilio = 1, 2 do Twilio.post() end\nTwilio.post()", ["Twilio"]),
        ("do local Twilio = {} end Twilio.post()", ["Twilio"]),
        ("Twilio = require 'twilio' Twilio.post()", []),
        ("function Twilio() end Twilio.post()", []),
        ("keystore.get() TWILIO:post() Lights.on()", ["Lights"]),
        ("é = 1 Twilio.post('é')", ["Twilio"]),
        ("a = " + "(" * 150 + "Twilio.post()" + ")" * 150, ["Twilio"]),
        ("a = " + "1 + " * 3000 + "Twilio.post()", ["Twilio"]),
        ("local a = = 1\nTwilio.post{}\nend end", ["Twilio"]),
    ],
)
def test_services_that_are_missing_are_found_also_past_errors(text: str, services: list[str]) -> None:
    assert list(dict.fromkeys(each.service for each in missing_calls(folder(text), SERVICES))) == services


def test_a_service_that_has_another_name_in_the_solution_is_there() -> None:
    text = "Lamp.on() Partner.nest()"
    assert list(of_calls(folder(text), SERVICES, ("lamp", "Partner"))) == []
    [lamp, partner] = of_calls(folder(text), SERVICES)
    assert (
        str(lamp)
        == "0.lua:1: no service has the name 'Lamp'; `stubs` in lab.yaml, or lab.service, can add it"
    )
    assert "Partner" in partner.text


def test_modules_that_are_missing_are_warnings_and_unused_ones_notes() -> None:
    whole = folder(
        "local m = require 'unit'\nrequire('unused.inner')\nrequire 'modules/units' require 'lamps' require 'more'",
        units="return 1",
        other="require 'units'",
        lamps="local lamps = {}\nfunction lamps.on() return 1 end",
        more="more = {}\nfunction more.on() return 1 end",
    )
    assert [(each.level, str(each)) for each in of_modules(whole)] == [
        ("warning", "0.lua:1: no module has the name 'unit'; did you mean units?"),
        ("warning", "0.lua:2: no module has the name 'unused.inner'"),
        ("warning", "0.lua:3: no module has the name 'modules/units'; did you mean units?"),
        ("note", "other.lua: no script requires module 'other'"),
        ("warning", "lamps.lua: returns nothing, so that require('lamps') is true; end it with return"),
    ]


def test_globals_that_scripts_assign_are_notes_at_their_first_place() -> None:
    text = "count = 1\ncount = 2\nlocal mine = 1\nmine = 2\nfunction helper() inner = 1 end\nt.x = 1\na, t[1] = 1, 2"
    assert [(each.line, each.text.split("'")[1]) for each in of_globals(folder(text))] == [
        (1, "count"),
        (5, "helper"),
        (5, "inner"),
        (7, "a"),
    ]


def test_files_are_listed_with_what_they_hold_and_call() -> None:
    whole = folder("Keystore.get{} Keystore.get{}", units="return Twilio.post()")
    listed = list_files(whole, of_calls(whole, SERVICES))
    assert [(each.file, each.kind, each.holds, each.calls) for each in listed] == [
        ("0.lua", "endpoints", ["GET /"], ["Keystore.get"]),
        ("units.lua", "module", ["units"], ["Twilio.post"]),
    ]
    assert [len(each.findings) for each in listed] == [0, 1]


def test_a_stub_has_the_operations_and_arguments_and_runs(tmp_path: Path) -> None:
    calls = missing_calls(
        folder("Twilio.post{To = 1, from = 2}\nTwilio.post{Body = 'a'} Twilio.import()"), SERVICES
    )
    text = stub("Twilio", calls)
    assert "def post(To=None, Body=None, **others):" in text
    in_a_cell = next(each for each in text.splitlines() if "In a cell" in each).partition(": ")[2]
    with Lab(seed=1) as lab:
        exec(f"{text}\n{in_a_cell}", {"lab": lab})
        solution = lab.solution("acme")
        assert solution.Twilio.post(To=1, **{"from": 2}) == {}
        assert solution.call("Twilio", "import") == {}
    (tmp_path / "twilio.py").write_text(text)
    with Lab(seed=1, stubs={"Twilio": tmp_path / "twilio.py"}) as lab:
        assert lab.solution("acme").call("Twilio", "import") == {}


def test_a_module_that_cannot_be_read_is_there_for_those_that_require_it() -> None:
    whole = folder("require 'broken' require 'gone'")
    whole.unread.add("broken")
    assert [str(each) for each in of_modules(whole)] == ["0.lua:1: no module has the name 'gone'"]


class CountingText(str):
    """Text of a script whose bytes count how many of them are read as names."""

    read = 0

    def encode(self, *_: object) -> bytes:
        text = self

        class Counting(bytes):
            def __getitem__(self, part: Any) -> Any:
                found = super().__getitem__(part)
                text.read += len(found)
                return found

        return Counting(super().encode())


@pytest.mark.parametrize(
    "text",
    [
        "local v = a" + ".x.y" * 30_000,
        "a" + ".x{1}.y()" * 10_000,
        "a" + ":x()" * 20_000,
        "v = 1" + " + Keystore" * 10_000,
        "v = {" + "a, " * 30_000 + "}",
        "v = [[" + "a\n" * 50_000,  # not closed
    ],
    ids=["fields", "calls", "methods", "sum", "table", "error"],
)
def test_a_long_script_is_read_in_linear_time(text: str) -> None:
    counting = CountingText(text)
    usage(ScriptSource("a.lua", 1, counting))
    assert counting.read < 4 * len(text)


@pytest.mark.parametrize(
    "wrong", ["local a = = 1", "goto=1\n" * 10_000]
)  # the parser does not know the second
def test_of_a_long_script_that_is_not_parsed_the_words_are_known_so_that_it_causes_no_other_findings(
    wrong: str,
) -> None:
    broken = f"Twilio = require('twilio')\n{wrong}\n" + "-- more\n" * 300
    texts = folder(broken, "Twilio.post()", twilio="return {}")
    assert missing_calls(texts, SERVICES) == []
    assert list(of_modules(texts)) == []
