"""Signals and time limits of a process that runs tests: a pytest plugin."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, Protocol

import pytest

INHERITED: dict[signal.Signals, Callable[[int, FrameType | None], Any] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGALRM: signal.SIG_DFL,
    signal.SIGCHLD: signal.SIG_DFL,
}
GRACE = 1.25  # multiple of a test's time limit after which its process ends
STDERR = pytest.StashKey[int]()
LIMIT = pytest.StashKey[float]()


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
    config.stash[STDERR] = os.dup(2)  # pytest captures writes to the other descriptor


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
