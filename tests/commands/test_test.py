"""`labkit test`: tests in Lua of a solution's folder, at the terminal."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from tests.rig import invoked, written

TESTS = """
describe('lamp', function()
  it('is off', function() assert.equal('off', solution.get('/lamp').body) end)
  it('is on', function()
    lab.device('t-1'):write{power = 'on'}
    assert.equal('on', solution.get('/lamp').body)
  end)
  it('fails', function() print('é') assert.equal(1, 2) end)
  it('later')
end)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "endpoints/lamp.lua": "--#ENDPOINT GET /lamp text/plain\nreturn Keystore.get{key = 'lamp'}.value or 'off'\n",
        "services/device_datapoint.lua": "Keystore.set{key = 'lamp', value = data.value[2]}\n",
        "specs/resources.yaml": "power: {format: string}\n",
        "tests/lamp.lua": TESTS,
    }
    return written(tmp_path / "lamps", files)


command = functools.partial(invoked, "test")


def test_each_test_is_a_line_and_failures_follow(folder: Path) -> None:
    result = command(folder)
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "passed  tests/lamp.lua:3  lamp is off",
        "passed  tests/lamp.lua:4  lamp is on",
        "failed  tests/lamp.lua:8  lamp fails",
        "pending tests/lamp.lua:9  lamp later",
        "",
        "FAILED lamp fails",
        "    tests/lamp.lua:8: expected:",
        "    1",
        "    but it is:",
        "    2",
        "    printed: é",
        "",
        "2 passed, 1 failed, 1 pending",
    ]


def test_some_tests_pass_in_the_lab_of_a_lab_yaml(folder: Path) -> None:
    (folder.parent / "lab.yaml").write_text(
        "products: [{id: lamp, resources: {power: string}}]\n"
        "solutions: [{id: other}, {id: lamps, path: lamps, products: [lamp]}]\n"
    )
    result = command(
        folder, "-k", "IS ON", "--config", folder.parent / "lab.yaml", "--workers", "1", "--seed", "9"
    )
    assert (result.exit_code, result.output) == (0, "passed  tests/lamp.lua:4  lamp is on\n\n1 passed\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["-k", "nothing"], "no test has 'nothing' in its name or file, of 4 tests"),
        (["--config", "none.yaml"], "none.yaml: cannot be read: No such file or directory"),
        (["--config", "empty.yaml"], "empty.yaml: no solution has the path"),
    ],
)
def test_an_error_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], error: str
) -> None:
    monkeypatch.chdir(folder)
    Path("empty.yaml").write_text("solutions: [{id: other}]\n")
    result = command(folder, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"labkit: {error}")
    assert result.stderr.count("\n") == 1


def test_a_broken_file_fails_and_the_other_files_run(folder: Path) -> None:
    (folder / "tests" / "a broken é.lua").write_text("end")
    result = command(folder, "-k", "is off")
    assert (result.exit_code, result.output.splitlines()) == (
        1,
        [
            "failed  tests/a broken é.lua:1  tests/a broken é.lua",
            "passed  tests/lamp.lua:3  lamp is off",
            "",
            "FAILED tests/a broken é.lua",
            "    tests/a broken é.lua:1: '<eof>' expected near 'end'",
            "",
            "1 passed, 1 failed",
        ],
    )


def test_a_broken_script_of_the_solution_is_one_line(folder: Path) -> None:
    (folder / "endpoints" / "lamp.lua").write_text("--#ENDPOINT GET\n")
    assert "endpoints/lamp.lua:1: expected a path" in command(folder).stderr
    assert command(folder / "none").exit_code == 2


def test_coverage_is_a_table_and_pages_in_a_folder(folder: Path, tmp_path: Path) -> None:
    result = command(folder, "-k", "is off", "--coverage", tmp_path / "pages", "--coverage-min", "33")
    assert result.exit_code == 0
    assert result.output.splitlines()[-5:] == [
        "endpoints/lamp.lua                 1 of     1 lines  100 %",
        "services/device_datapoint.lua      0 of     1 lines    0 %  1",
        "all files                          1 of     2 lines   50 %",
        "",
        str(tmp_path / "pages" / "index.html"),
    ]
    assert {each.name for each in (tmp_path / "pages").iterdir()} == {
        "index.html",
        "lcov.info",
        "endpoints_lamp.lua.html",
        "services_device_datapoint.lua.html",
    }


def test_too_little_coverage_is_exit_status_1(folder: Path) -> None:
    result = command(folder, "-k", "is off", "--coverage-min", "50.1")
    assert result.exit_code == 1
    assert result.stderr == "labkit: coverage: 50.00 % of the lines ran, expected at least 50.1 %\n"
    assert command(folder, "-k", "is off", "--coverage-min", "50").exit_code == 0


def test_json_has_tests_and_coverage(folder: Path) -> None:
    found = json.loads(command(folder, "-k", "is o", "--coverage-min", "0", "--json").output)
    assert [each["status"] for each in found["tests"]] == ["passed", "passed"]
    assert found["coverage"]["percent"] == 100
    assert found["coverage"]["files"][0]["counts"] == {"2": found["coverage"]["files"][0]["counts"]["2"]}
    assert "coverage" not in json.loads(command(folder, "-k", "is off", "--json").output)


def test_a_folder_for_pages_that_cannot_be_made_is_an_error_before_any_test(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("")
    result = command(folder, "--coverage", tmp_path / "a" / "b")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"labkit: {tmp_path / 'a' / 'b'}: cannot be made: ")


def test_tests_with_a_text_are_left_out(folder: Path) -> None:
    (folder / "tests" / "lamp.lua").write_text(
        "describe('lamp #slow', function() it('a') end) it('b #fast') it('c')"
    )
    assert command(folder, "--without", "#SLOW").output.splitlines()[:2] == [
        "pending tests/lamp.lua:1  b #fast",
        "pending tests/lamp.lua:1  c",
    ]
    assert command(folder, "-k", "#", "--without", "#slow").output.splitlines()[-1] == "1 pending"
    result = command(folder, "--without", "lua")
    assert (result.exit_code, result.stderr) == (
        2,
        "labkit: no test is without 'lua' in its name or file, of 3 tests\n",
    )


def test_the_product_of_a_folder_has_the_id_of_the_solution_and_timeseries_takes_a_text(folder: Path) -> None:
    (folder / "services").mkdir(exist_ok=True)
    (folder / "services" / "device2.yaml").write_text("resources: {power: {format: string}}\n")
    (folder / "tests" / "lamp.lua").write_text(
        "it('a', function()\n"
        "  lab.device('t-1', 'solution'):write{power = 'on'}\n"
        "  Timeseries.write('m v=1')\n"
        "  local found = Timeseries.query('select v from m')\n"
        "  assert.equal(1, found.results[1].series[1].values[1][2])\n"
        "end)"
    )
    result = command(folder)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "1 passed")


def test_warnings_of_the_folder_and_of_calls_are_shown_once(folder: Path) -> None:
    (folder / "endpoints" / "lamp.lua").write_text(
        "--#ENDPOINT GET /lamp\nreturn Keystore.gett{key = 'lamp'}\n"
        "--#ENDPOINT GET /other\nreturn Twilo.send{}\n"
    )
    (folder / "tests" / "lamp.lua").write_text(
        "local function each()\n"
        "  solution.get('/other')\n"
        "  lab.device('t-1'):write{pwer = 'on'}\n"
        "  Keystore.get{kye = 1}\n"
        "  Keystor.get{key = 1}\n"
        "end\n"
        "it('a', each) it('b', each)"
    )
    result = command(folder)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "2 passed, 4 warnings")
    texts = result.stderr.splitlines()
    for number, part in enumerate(
        [
            "endpoints/lamp.lua:2: Keystore has no operation 'gett'; did you mean get?",
            "tests/lamp.lua:2: solution 'solution', GET /other: Twilo.send: there is no service 'Twilo'",
            "tests/lamp.lua:3: no resource 'pwer' in product 'device', there are: power; did you mean power?",
            "tests/lamp.lua:4: kye is not a parameter of get; did you mean key?",
            "tests/lamp.lua:5: Keystor.get: there is no service 'Keystor'; did you mean Keystore?",
        ]
    ):
        assert texts[number].startswith(f"labkit: warning: {part}")
    assert len(texts) == 5
    assert command(folder, "--strict").exit_code == 1
