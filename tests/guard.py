"""Signals and time limits of a process that runs tests: a pytest plugin.

Limits of real time are guards against a hang: they scale with the speed of the machine, measured when the run begins.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, Protocol

import pytest
import pytest_timeout  # type: ignore[import-untyped]

from labkit.core.machine import ROOM, slowness

INHERITED: dict[signal.Signals, Callable[[int, FrameType | None], Any] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGALRM: signal.SIG_DFL,
    signal.SIGCHLD: signal.SIG_DFL,
}
GRACE = 1.25  # multiple of a test's time limit after which its process ends
STDERR = pytest.StashKey[int]()
LIMIT = pytest.StashKey[float]()

VARIABLE = "LABKIT_TESTS_FACTOR"  # for the processes of a run
FACTOR = float(os.environ.get(VARIABLE) or slowness())
os.environ[VARIABLE] = str(FACTOR)
CPU_FACTOR = max(FACTOR / ROOM, 1.0)  # of limits of CPU time, which needs no room for load
PATIENCE = 60.0 * FACTOR  # seconds of real time after which a wait in a test is a hang
EXPLAINED = (
    f"the guard of a hang, with the factor {FACTOR:g} for this machine: no statement about what is tested"
)


class Settings(Protocol):
    """Settings of pytest-timeout. timeout: seconds."""

    timeout: float


def pytest_configure(config: pytest.Config) -> None:
    """Restore signals that are inherited as ignored or blocked: a shell ignores SIGINT for background jobs of a script,
    and all processes that the tests start would ignore it, too.
    """
    for number, handler in INHERITED.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INHERITED)
    pytest_timeout.PYTEST_FAILURE_MESSAGE = f"over %ss of real time: {EXPLAINED}"
    config.stash[STDERR] = os.dup(2)  # pytest captures writes to the other descriptor


@pytest.hookimpl(trylast=True)  # after other markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Scale the limit of each test, that of its marker or of the ini file; --timeout sets one for all as it is."""
    for item in items if config.getoption("timeout") is None else ():
        marker = item.get_closest_marker("timeout")
        seconds = float(marker.args[0] if marker else config.getini("timeout") or 0)
        item.add_marker(pytest.mark.timeout(seconds * FACTOR), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Explain a failure that may be that of a guard in the test itself."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, TimeoutError | subprocess.TimeoutExpired):
        report.sections.append(("guard", f"if that is a limit of PATIENCE: {EXPLAINED}"))
    return report


@pytest.hookimpl(tryfirst=True)  # pytest-timeout's own handler comes after it
def pytest_timeout_set_timer(item: pytest.Item, settings: Settings) -> None:
    """End the process, with the stacks of all threads, where the exception of pytest-timeout does not end the test.

    It is raised once, wherever the main thread is: a callback of uvloop logs it, a `finally` may go on waiting.
    """
    item.stash[LIMIT] = settings.timeout * GRACE
    _arm(item)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Arm the guard again, which pytest has just disarmed, for the fixtures of a test that failed."""
    if LIMIT in node.stash:
        _arm(node)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Disarm the guard once a test has been torn down."""
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_enter_pdb() -> None:
    """Disarm the guard for a debugger."""
    faulthandler.cancel_dump_traceback_later()


def _arm(node: pytest.Item | pytest.Collector) -> None:
    faulthandler.dump_traceback_later(node.stash[LIMIT], exit=True, file=node.config.stash[STDERR])
