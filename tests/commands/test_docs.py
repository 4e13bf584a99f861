"""`labkit docs`: one entry of the reference at the terminal, the schema of lab.yaml, and the book."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from labkit.commands import docs
from labkit.core.errors import LabError
from tests.reference.test_commands import COMMANDS
from tests.rig import invoked

run = functools.partial(invoked, "docs")


@pytest.mark.parametrize(
    ("name", "first", "shown"),
    [
        ("User", "User (page)", "listUsers "),
        ("User.listUsers", "User.listUsers (operation)", "**In Lua**"),
        ("user.listusers", "User.listUsers (operation)", "**In Python**"),
        ("device datapoint", "device datapoint (event)", "- `alias`: alias of the resource"),
        ("guard.header", "guard.header (setting)", "- Default: `10.0`"),
        ("products.auth", "products[].auth (setting)", "- Type: "),
        ("faults.delay", "faults[].delay (fault)", "```yaml"),
        ("drop before", "drop before (device fault)", "fleet.faults.add("),
        ("clock.advance", "clock.advance (control operation)", "`POST /v1/clock/advance`"),
        ("Lab.product", "Lab.product (Python)", "Lab.product("),
        ("lab.clock.advance", "lab.clock.advance (Python)", "lab.clock.advance("),
        ("Lab.firmware", "lab.firmware (Python)", "\nlab.firmware(command: "),
        ("lab.firmware", "lab.firmware (Python)", "ends: whether its end is expected"),
        ("DEV-ALIAS-1", "DEV-ALIAS-1 (requirement)", "- Check `write/one-pair`"),
    ],
)
def test_a_name_shows_its_entry(name: str, first: str, shown: str) -> None:
    result = run(name)
    assert result.output.splitlines()[0] == first
    assert shown in result.output


def test_the_types_for_editors_are_written_where_no_check_minds_them(tmp_path: Path) -> None:
    (tmp_path / "a.lua").write_text("return 1\n")
    project = "formatversion: 1.0.0\ninfo: {name: a}\nmodules: {location: ., include: '**/*.lua'}\n"
    (tmp_path / "solution.yaml").write_text(project)
    file = tmp_path / ".labkit.lua"
    written = run("--lua-types", tmp_path)
    assert written.stdout == f"{file}\n"
    assert "LuaLS" in written.stderr
    assert "function User.listUsers(arguments) end" in file.read_text()
    assert "docs --lua-types" in invoked("check", "--help").output
    lines = invoked("check", tmp_path).output.splitlines()
    assert (lines[-1], [each for each in lines if "labkit.lua" in each]) == (f"{tmp_path}: no problems", [])
    assert "--lua-types: " in run("--lua-types", tmp_path / "none").output


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_found_with_its_help(name: str) -> None:
    result = run(name)
    assert result.output.startswith(f"{name} (command)\n")
    assert "Options:" in result.output
    assert result.output in run(name.removeprefix("labkit ")).output


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("User.listUser", "User.listUsers"),
        ("guard.heder", "guard.header"),
        ("faults.delya", "faults.delay"),
        ("sreve", "serve"),
        ("Lab.prodct", "Lab.product"),
        ("DEV-ALAIS-1", "DEV-ALIAS-1"),
    ],
)
def test_an_unknown_name_is_refused_with_a_similar_one(name: str, similar: str) -> None:
    result = run(name)
    assert result.exit_code == 1
    assert result.output.strip() == f"labkit: the reference has no entry {name!r}; did you mean {similar}?"


def test_a_name_like_no_other_is_refused_with_a_hint() -> None:
    result = run("xyzzy")
    assert result.exit_code == 1
    assert "`labkit docs Keystore` lists the operations of a service" in result.output


def test_the_schema_is_json() -> None:
    schema = json.loads(run("--schema").stdout)
    assert {"products", "solutions", "guard"} <= set(schema["properties"])


def test_without_a_name_it_opens_the_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    own, other = (tmp_path / name / docs.BOOK for name in ("own", "other"))
    other.parent.mkdir(parents=True)
    other.write_text("<h1>labkit</h1>")
    monkeypatch.chdir(tmp_path / "other")
    monkeypatch.setattr(docs, "CHECKOUT", tmp_path / "own")
    assert run().output == f"{other}\n"
    own.parent.mkdir(parents=True)
    own.write_text("<h1>labkit</h1>")
    result = run()
    assert (result.exit_code, result.output) == (0, f"{own}\n")
    assert opened == [other.as_uri(), own.as_uri()]


def test_without_a_book_it_says_how_to_build_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "BOOK", tmp_path / "nowhere.html")
    with pytest.raises(LabError, match="run `make book` in a checkout, or `labkit docs NAME`"):
        docs.built_book()
    assert run().exit_code == 1
