"""Test files of a solution's folder in `labkit check` and `solution.files`: nothing of them runs."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from labkit import Lab
from labkit.cli import main

FILES = {
    "modules/units.lua": "return {}\n",
    "services/device_datapoint.lua": "require 'units'\n",
    "tests/a.lua": "local units = require('units')\nrequire('busted.runner')()\n"
    "it('é', function()\n  Keystore.gett{key = 1}\n  Keystor.get{key = 1}\n"
    "  lab.stub('Twilio', {send = {}}) Twilio.send{}\n  require('untis')\n"
    "  assert(solution.get('/').status, 200)\nend)\n",
    "tests/broken.lua": "it('a', function()\nend\n",
    "tests/endless.lua": "while true do end require('tests.a')",
    "spec/latin.lua": "",
}
WARNINGS = [
    "tests/a.lua:4: Keystore has no operation 'gett'; did you mean get?",
    "tests/a.lua:5: no service has the name 'Keystor'; did you mean Keystore?",
    "tests/a.lua:7: no module has the name 'untis'; did you mean units?",
    "tests/a.lua:8: assert(…, 200): the second value is a message; did you mean assert.equal?",
]


def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "acme é" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "acme é" / name).write_text(text)
    (tmp_path / "acme é" / "spec" / "latin.lua").write_bytes(b"\xe9")
    return tmp_path / "acme é"


def test_check_names_what_is_wrong_in_test_files(tmp_path: Path) -> None:
    path = folder(tmp_path)
    result = CliRunner().invoke(main, ["check", "--json", str(path)])
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert found["warnings"] == [f"{path}: {each}" for each in WARNINGS]
    first, second = found["errors"]
    assert first.startswith(f"{path}: spec/latin.lua: cannot be read: 'utf-8' codec can't decode")
    assert second.startswith(f"{path}: tests/broken.lua:3: ")
    [listed] = found["files"].values()
    tests = {each["file"]: each["calls"] for each in listed if each["kind"] == "tests"}
    assert tests == {
        "spec/latin.lua": [],
        "tests/a.lua": ["Keystore.gett", "Keystor.get", "Twilio.send"],
        "tests/broken.lua": [],
        "tests/endless.lua": [],
    }
    (path / "tests" / "broken.lua").unlink()
    (path / "spec" / "latin.lua").unlink()
    assert CliRunner().invoke(main, ["check", str(path)]).exit_code == 0
    assert CliRunner().invoke(main, ["check", "--strict", str(path)]).exit_code == 1


def test_a_cell_sees_the_test_files(tmp_path: Path) -> None:
    with Lab(seed=1) as lab:
        files = lab.solution("acme", path=folder(tmp_path)).files
    assert files.kind["tests/a.lua"] == "tests"
    for each in WARNINGS:
        assert each.partition(": ")[2] in files.problems["tests/a.lua"]
    assert "tests/broken.lua" in files.index
    assert files.problems["tests/broken.lua"] != ""
