"""The process from which workers of pytest-xdist are forked (tests/forked.py), and what it does in a worker."""

from __future__ import annotations

import gc
import json
import os
import sys

import pytest

ARGUMENTS = "LABKIT_TESTS_COLLECTED"  # the environment variable with the arguments of the collection, as JSON
OPTIONS = ("--collect-only", "-qqq", "-n", "0", "-p", "no:cacheprovider")
THRESHOLD = gc.get_threshold()  # at import, before the process changes it for its forks


def prepare() -> None:
    """Collect all tests, and with it import them; each worker then finds their modules imported."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads do not survive a fork
    pytest.main([*OPTIONS, *json.loads(os.environ[ARGUMENTS])])


def work(_: object, send: object) -> None:
    """Run the program that execnet sends, as a process does that it has started."""
    gc.set_threshold(*THRESHOLD)
    exec(eval(sys.stdin.readline()), {"__name__": "__main__"})
