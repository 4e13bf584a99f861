"""Processes of tests: independent of inherited signal settings, and ended by the time limit in any hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guard import VARIABLE
from tests.rig import ran

ROOT = Path(__file__).parent.parent
OPTIONS = ("-c", os.devnull, "-p", "pytest_timeout", "-p", "tests.guard", "-p", "no:cacheprovider")
ENVIRONMENT = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", VARIABLE: "3"}

IGNORES = """
import signal
import subprocess
import sys

def test_signals():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
    child = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.check_output([sys.executable, "-c", child]) == b"True\\n"
"""
UVLOOP = """
import asyncio
import uvloop

def test_hangs():
    async def hang():
        while True:
            await asyncio.sleep(0.01)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(hang())
"""
CLEANUP = """
import threading

def test_hangs():
    try:
        threading.Event().wait()
    finally:
        threading.Event().wait()
"""
TEARDOWN = """
import threading
import pytest

from tests.guard import PATIENCE, VARIABLE

@pytest.fixture
def hanging():
    yield
    threading.Event().wait()

def test_hangs(hanging):
    threading.Event().wait()
"""

SCALED = """
import pytest
import pytest_timeout

@pytest.mark.timeout(10)
def test_limit(request):
    assert request.node.get_closest_marker("timeout").args == (30.0,)
    assert "the guard of a hang, with the factor 3 for" in pytest_timeout.PYTEST_FAILURE_MESSAGE
"""


def ignore_and_block() -> None:
    """Ignore signals as a shell does for background jobs, and block them as a careless parent may do."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGALRM])


def run(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    file = folder / "test_it.py"
    file.write_text(test)
    return ran(
        *(sys.executable, "-m", "pytest", *OPTIONS, *options, file),
        cwd=ROOT,
        env=ENVIRONMENT,
        preexec_fn=ignore_and_block,
    )


def test_signals_inherited_as_ignored_or_blocked_are_restored(tmp_path: Path) -> None:
    ran = run(tmp_path, IGNORES)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("hang", [UVLOOP, CLEANUP, TEARDOWN], ids=["uvloop", "cleanup", "teardown"])
def test_a_hang_that_no_exception_ends_ends_the_process(tmp_path: Path, hang: str) -> None:
    ran = run(tmp_path, hang, "--timeout=4")  # and one second to render a failure
    assert ran.returncode == 1
    assert "Timeout (0:00:05)!" in ran.stderr
    assert 'test_it.py", line' in ran.stderr


def test_a_limit_scales_with_the_machine_and_says_that_it_is_a_guard(tmp_path: Path) -> None:
    ran = run(tmp_path, SCALED)
    assert ran.returncode == 0, ran.stdout
