"""Child processes of the bench, forked from a process with its imports, since starting each anew takes a second."""

from __future__ import annotations

import os
import runpy
import sys
import warnings
from collections.abc import Sequence
from multiprocessing.connection import Connection
from subprocess import PIPE
from types import SimpleNamespace
from typing import Any

import pytest

from labkit.bench import control
from tests.served import FORKS


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the bench fork its child processes."""
    monkeypatch.setattr(control, "subprocess", SimpleNamespace(Popen=Forked, PIPE=PIPE))


class Forked:
    """The part of `subprocess.Popen` that the bench uses, for `python -m MODULE ARGUMENTS`."""

    def __init__(self, command: Sequence[str], **_: Any) -> None:
        assert list(command[:2]) == [sys.executable, "-m"]
        there, stdin = FORKS.Pipe(duplex=False)
        stdout, back = FORKS.Pipe(duplex=False)
        self._process = FORKS.Process(target=_run, args=(list(command[2:]), there, back), daemon=True)
        self._process.start()
        self.stdin = os.fdopen(os.dup(stdin.fileno()), "w", encoding="utf-8")
        self.stdout = os.fdopen(os.dup(stdout.fileno()), encoding="utf-8")
        for each in (there, stdin, stdout, back):
            each.close()

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        assert self._process.exitcode is not None, "it does not end"
        return self._process.exitcode


def _run(arguments: list[str], there: Connection, back: Connection) -> None:
    for number, each in enumerate((there, back)):
        os.dup2(each.fileno(), number)
        each.close()
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.argv = arguments
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # so that the module is already imported
        runpy.run_module(arguments[0], run_name="__main__")
