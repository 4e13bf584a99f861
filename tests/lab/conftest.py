"""Fixtures of labs that run in another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from tests.forked_starts import serving

Serve = Callable[..., dict[str, Any]]


def connected(ready: dict[str, Any], ca_file: str | None = None) -> Lab:
    return Lab.connect(ready["control"]["url"], ready["control"]["token"], ca_file)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Return a function that starts a server, and returns its ready line, and its process as `process`."""
    numbers = count()

    def start(*arguments: str, config: str = "{https_port: 0}", token: str | None = None) -> dict[str, Any]:
        file = tmp_path / f"lab{next(numbers)}.yaml"
        file.write_text(config)
        env = None if token is None else {"LABKIT_TOKEN": token}
        process, ready = stack.enter_context(serving("--config", file, "--log", "none", *arguments, env=env))
        return {**ready, "process": process}

    with ExitStack() as stack:
        yield start


@pytest.fixture
def served_lab(serve: Serve) -> Iterator[Lab]:
    with connected(serve("--control", "--seed", "7")) as lab:
        yield lab
