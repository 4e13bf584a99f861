"""Fixture: a real Redis for tests that compare with it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real Redis: LABKIT_REDIS_URL, or a redis-server from the PATH, or the test is skipped."""
    given = os.environ.get("LABKIT_REDIS_URL")
    if given:
        yield given
        return
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no Redis to compare with: install redis-server or set LABKIT_REDIS_URL")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    folder = tmp_path_factory.mktemp("redis")
    with subprocess.Popen(
        [program, *settings, "--dir", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LC_ALL": "C"},  # in which SORT compares
    ) as server:
        assert server.stdout is not None
        said = []
        for line in server.stdout:
            said.append(line)
            if "Ready to accept connections" in line:
                break
        else:
            pytest.fail(f"redis-server did not start: {''.join(said)}")
        yield f"redis://127.0.0.1:{port}/0"
        server.terminate()
        server.communicate()
