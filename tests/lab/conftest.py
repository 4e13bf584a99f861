"""Fixtures of labs that run in another process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from tests.lab.served_labs import Serve, connected, with_token
from tests.served import Served


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Return a function that starts a server, with control, and returns its ready line."""
    started: list[Served | subprocess.Popen[str]] = []

    def start(*arguments: str, config: str = "{https_port: 0}", token: str | None = None) -> dict[str, Any]:
        file = tmp_path / f"lab{len(started)}.yaml"
        file.write_text(config)
        command = ["serve", "--config", str(file), "--json", "--log", "none", *arguments]
        process = Served(*command) if token is None else with_token(token, *command)
        started.append(process)
        assert process.stdout is not None
        ready: dict[str, Any] = json.loads(process.stdout.readline())
        return {**ready, "process": process}

    yield start
    for each in started:
        each.kill()
        if each.stdout is not None and not each.stdout.closed:
            each.communicate()


@pytest.fixture
def served_lab(serve: Serve) -> Iterator[Lab]:
    with connected(serve("--control", "--seed", "7")) as lab:
        yield lab
