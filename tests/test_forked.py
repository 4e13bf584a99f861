"""Workers of pytest-xdist: forked from one process that has imported the tests, and replaced when they die."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from labkit.conformance.fork_server import AVAILABLE
from tests.rig import ran

ROOT = Path(__file__).parent.parent
OPTIONS = ("-c", os.devnull, "-p", "xdist", "-p", "tests.forked", "-p", "no:cacheprovider")
ENVIRONMENT = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
TESTS = """
import os
import signal
from pathlib import Path
import pytest

TOKEN = os.urandom(4).hex()

@pytest.mark.parametrize("number", range(12))
def test_one(number):
    Path(__file__).with_name(f"{number}.txt").write_text(f"{TOKEN} {os.getpid()} {os.environ['OWN']} {Path.cwd()}")
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    assert number != 5, "five"
"""


def run(folder: Path, *options: str) -> tuple[str, list[list[str]]]:
    """Run the tests of a file; return the output, and what each test wrote."""
    file = folder / "test_forked_here.py"
    file.write_text(TESTS)
    command = [sys.executable, "-m", "pytest", *OPTIONS, *options, str(file)]
    done = ran(*command, cwd=ROOT, env=ENVIRONMENT | {"OWN": "x"})
    return done.stdout + done.stderr, [each.read_text().split(" ", 3) for each in folder.glob("*.txt")]


@pytest.mark.skipif(not AVAILABLE, reason="the system has no fork")
def test_workers_have_one_import_and_a_dead_one_is_replaced(tmp_path: Path) -> None:
    said, written = run(tmp_path, "-n", "2", "--junit-xml", str(tmp_path / "junit.xml"))
    assert "2 failed, 10 passed" in said
    assert "AssertionError: five" in said
    assert "crashed while running" in said
    tokens, pids, own, folders = map(set, zip(*written, strict=True))
    assert len(tokens) == 1
    assert len(pids) >= 2
    assert (own, folders) == ({"x"}, {str(ROOT)})
    assert (tmp_path / "junit.xml").read_text().count("<testcase") == 12
