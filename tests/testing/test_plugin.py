"""The pytest plugin in a project outside of the checkout: the files of `outside`, copied to an empty folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import plugins
from tests.rig import ran

OUTSIDE = Path(__file__).parent / "outside"
EXPECTED = OUTSIDE / "expected.txt"
VARYING = {  # parts of a report that differ from run to run
    r"127\.0\.0\.1:\d+": "127.0.0.1:PORT",
    r"(?m)^20(?!26-01-01)\d\d-\d\d-\d\d \d\d:\d\d:\d\d": "NOW",
    r"in \d+\.\d+s": "in TIME",
    r" +$": "",
}


CI = {"CI", "BUILD_NUMBER"}  # environment variables by which pytest knows that it runs in CI


# Programs on lab time are among what these tests play.
NEEDS_COMPILER = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
NEW_PROCESS = (sys.executable, "-m", "pytest")


def run(
    folder: Path,
    *arguments: str,
    command: tuple[str, ...] = ("pytest",),
    environment: Mapping[str, str] = plugins.ENVIRONMENT,
) -> subprocess.CompletedProcess[str]:
    """Run pytest on the project in an empty folder."""
    shutil.copytree(OUTSIDE, folder, dirs_exist_ok=True)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "PYTHON"))
        and name not in CI  # pytest shows whole differences there
    }
    return ran(
        *(*command, "-p", "no:cacheprovider", *arguments),
        cwd=folder,
        env={**inherited, "COLUMNS": "100", "NO_COLOR": "1", **environment},
    )


def report(ended: subprocess.CompletedProcess[str]) -> str:
    """Return the output without the parts that differ from run to run."""
    text = ended.stdout
    for pattern, instead in VARYING.items():
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text


@pytest.mark.sampled
@NEEDS_COMPILER
def test_each_fixture_works_without_any_setting(tmp_path: Path) -> None:
    """In a new process, with all installed plugins."""
    arguments = ("-q", "-W", "error", "--strict-markers", "test_fixtures.py")
    ended = run(tmp_path, *arguments, command=NEW_PROCESS, environment={})
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    assert "12 passed" in ended.stdout


def test_a_lab_on_demand_has_the_settings_of_its_server(tmp_path: Path) -> None:
    (tmp_path / "test_labs.py").write_text(
        "import pytest\n@pytest.mark.lab(speed=60)\ndef test_a(lab): pass\ndef test_b(lab): pass\n"
    )
    environment = {**plugins.ENVIRONMENT, "LABKIT_TOKEN": "x" * 16}
    ended = run(tmp_path, "test_labs.py", "--labkit-labs", "http://127.0.0.1:1", environment=environment)
    assert (
        "a lab of --labkit-labs has the settings of its server, expected at most seed=…, not speed"
        in ended.stdout
    )
    assert "LabError: the lab at http://127.0.0.1:1 cannot be reached" in ended.stdout


@pytest.mark.parametrize("chosen", ["not TestFirmware", "TestFirmware"])
def test_real_clients_trust_the_lab_and_find_it(tmp_path: Path, chosen: str) -> None:
    """Skipped, with the first reason, if the machine lacks a client or the headers of its library."""
    ended = run(tmp_path, "-q", "-rs", "-W", "error", "test_clients.py", "-k", chosen)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    if skipped := re.findall(r"^SKIPPED .*", ended.stdout, re.MULTILINE):
        pytest.skip(skipped[0])
    assert "passed" in ended.stdout


@NEEDS_COMPILER
def test_failing_tests_have_the_reports_shown(tmp_path: Path) -> None:
    """LABKIT_WRITE_EXPECTED=1 writes the file that is compared."""
    ended = run(tmp_path, "-q", "test_failing.py")
    assert (ended.returncode, ended.stderr) == (1, "")
    if "LABKIT_WRITE_EXPECTED" in os.environ:
        EXPECTED.write_text(report(ended))
    assert report(ended) == EXPECTED.read_text()


@NEEDS_COMPILER
def test_reports_and_seeds_pass_through_workers(tmp_path: Path) -> None:
    """Groups of xdist, which are appended to the ids of tests, change no seed."""
    ended = run(tmp_path, "-q", "-n", "2", "--dist", "loadgroup", "test_failing.py")
    expected = EXPECTED.read_text()
    for section in re.findall(r"(?s)-- lab: the journal --+\n.*?(?=\n[-=_]{20})", expected):
        assert section in report(ended)
    seeds = re.findall(r"--labkit-seed=\d+", expected)
    assert len(seeds) == 7
    assert sorted(re.findall(r"--labkit-seed=\d+", report(ended))) == sorted(seeds)


def test_options_set_the_seed_and_show_all_frames(tmp_path: Path) -> None:
    ended = run(tmp_path, "-q", "--labkit-seed=5", "--labkit-full-trace", "test_failing.py::test_refusal")
    assert "--labkit-seed=5" in ended.stdout
    assert "labkit/lab/portal.py" in ended.stdout
    assert "labkit/lab/portal.py" not in EXPECTED.read_text()


@pytest.mark.parametrize("arguments", [("--help",), ("--collect-only", "-q"), ("-q",)])
def test_an_unused_plugin_imports_nothing_large(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Not the rest of labkit, and no library of it, also where a suite without a lab runs."""
    (tmp_path / "test_without_a_lab.py").write_text("def test_nothing(): pass")
    code = (
        "import sys, pytest; pytest.main(sys.argv[1:]); "
        "print(sorted(each for each in sys.modules if each.startswith('labkit')))"
        "; assert not {'sqlalchemy', 'aiohttp', 'pydantic', 'IPython', 'httpx'} & sys.modules.keys()"
    )
    ended = ran(
        sys.executable,
        "-c",
        code,
        *"-p no:cacheprovider -p no:nbval -p no:schemathesis".split(),
        *arguments,
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    assert "'labkit.testing.plugin'" in ended.stdout
    assert "'labkit.settings'" not in ended.stdout
