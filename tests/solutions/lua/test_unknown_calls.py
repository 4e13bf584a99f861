"""Calls of unknown operations that the text of scripts shows, without false ones."""

from __future__ import annotations

import pytest

from labkit.solutions.lua.calls import unknown_calls
from labkit.solutions.scripts import ScriptSource

SERVICES = {"Keystore": {"get", "set"}, "User": {"listUsers"}}


def found(*texts: str) -> list[tuple[str, str, str, int]]:
    scripts = [ScriptSource(f"{number}.lua", 1, text) for number, text in enumerate(texts)]
    return [(*each,) for each in unknown_calls(scripts, SERVICES)]


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
    assert found(text) == [("Keystore", "gt", "0.lua", line)]


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
    assert found("User.list()", "extend(Keystore) Keystore.gt()") == [("User", "list", "0.lua", 1)]


def test_lines_are_those_of_the_file() -> None:
    [call] = unknown_calls([ScriptSource("a.lua", 10, "\n\nKeystore.gt()")], SERVICES)
    assert (call.file, call.line) == ("a.lua", 12)
