"""Tests in Lua as pytest's items: of the folders that the ini file names, and of no other."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests import plugins
from tests.rig import ran

LUA = """
describe('count', function()
  it('begins at 1', function() assert.same({n = 1}, solution.get('/n').json) end)
  it('begins at 1 in each test', function() assert.same({n = 1}, solution.get('/n').json) end)
  it('fails', function() assert.equal(1, 2) end)
  it('later')
end)
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["pytest", "-p", "no:cacheprovider", "-v", *arguments]
    environment = os.environ | plugins.ENVIRONMENT
    return ran(*command, cwd=folder, env=environment)


def test_tests_of_named_folders_are_items(tmp_path: Path) -> None:
    for name, text in {
        "pytest.ini": "[pytest]\nlabkit_solutions = acme\n",
        "acme/endpoints/n.lua": "--#ENDPOINT GET /n\n"
        "return {n = Keystore.command{key = 'n', command = 'incr'}.value}\n",
        "acme/tests/n.lua": LUA,
        "acme/modules/x_test.lua": "end",
        "other/tests/n.lua": "end",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    broken = run(tmp_path)
    assert "FAILED acme/modules/x_test.lua::modules/x_test.lua" in broken.stdout
    assert "modules/x_test.lua:1: '<eof>' expected near 'end'" in broken.stdout
    assert "2 failed, 2 passed, 1 skipped" in broken.stdout  # the other files run
    assert "other" not in broken.stdout
    (tmp_path / "acme/modules/x_test.lua").unlink()
    found = run(tmp_path).stdout
    for item, outcome in {
        "count begins at 1": "PASSED",
        "count begins at 1 in each test": "PASSED",
        "count fails": "FAILED",
        "count later": "SKIPPED (pending)",
    }.items():
        assert f"acme/tests/n.lua::{item} {outcome}" in found
    assert "    acme/tests/n.lua" not in found  # no traceback of Python
    assert "FAILED count fails\n    tests/n.lua:5: expected:\n    1\n    but it is:\n    2\n" in found
    chosen = run(tmp_path, "-k", "each").stdout
    assert "1 passed, 3 deselected" in chosen


def test_coverage_sums_over_the_items_and_may_fail_the_session(tmp_path: Path) -> None:
    for name, text in {
        "pytest.ini": "[pytest]\nlabkit_solutions = acme\n",
        "acme/modules/m.lua": "local m = {}\nfunction m.f()\n  return 1\nend\nfunction m.g()\n  return 2\nend\n"
        "function m.h()\n  return 3\nend\nreturn m\n",
        "acme/tests/m.lua": "local m = require('m')\nit('f', function() m.f() end)\nit('g', function() m.g() end)\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = run(tmp_path, "--labkit-coverage", "pages", "--labkit-coverage-min", "90")
    assert "modules/m.lua     10 of    11 lines   90 %  9\n" in found.stdout
    assert found.returncode == 0
    assert (tmp_path / "pages" / "modules_m.lua.html").exists()
    little = run(tmp_path, "--labkit-coverage-min", "91", "-n", "2")  # the counts come from two processes
    assert "acme: coverage: 90.91 % of the lines ran, expected at least 91 %" in little.stdout
    assert little.returncode == 1
    assert "coverage of" not in run(tmp_path).stdout


def test_wrong_folders_and_files_of_the_ini_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "acme" / "modules").mkdir(parents=True)
    for ini, code, text in (
        (
            "labkit_solutions = acmee",
            4,
            f"labkit_solutions: acmee: no such folder below {tmp_path}; did you mean acme?",
        ),
        (
            "labkit_solutions = acme",
            5,
            "LabWarning: labkit_solutions: acme: has no tests: expected tests/*.lua",
        ),
        (
            "labkit_solutions = acme\nlabkit_config = lb.yaml",
            4,
            f"labkit_config: {tmp_path}/lb.yaml: no such file",
        ),
    ):
        (tmp_path / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
        found = run(tmp_path)
        assert found.returncode == code
        assert text in found.stdout + found.stderr


def test_warnings_are_those_of_pytest(tmp_path: Path) -> None:
    for name, text in {
        "pytest.ini": "[pytest]\nlabkit_solutions = acme\nlabkit_config = lab.yaml\n",
        "lab.yaml": "products: [{id: lamp, resources: {power: string}}]\n"
        "solutions: [{id: acme, path: acme, products: [lamp]}]\n",
        "acme/endpoints/a.lua": "--#ENDPOINT GET /a\nreturn Keystore.gett{}\n",
        "acme/tests/a.lua": "it('a', function()\n  lab.device('t-1'):write{pwer = 1}\nend)\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = run(tmp_path)
    assert found.returncode == 0
    assert "LabWarning: tests/a.lua:2: no resource 'pwer' in product 'lamp'" in found.stdout
    assert "endpoints/a.lua:2: Keystore has no operation 'gett'; did you mean get?" in found.stdout
    assert run(tmp_path, "-W", "error").returncode == 1
