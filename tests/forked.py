"""Workers of pytest-xdist forked from one process that has imported all tests: a pytest plugin.

An import of all tests takes seconds of CPU time, which each worker would spend otherwise.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import execnet.gateway_io
import pytest
from execnet.gateway_base import ExecModel, Popen2IO
from execnet.xspec import XSpec

from labkit.conformance.fork_server import AVAILABLE, ForkServer, start
from tests import importing

ORIGINAL = execnet.gateway_io.create_io
SERVER = pytest.StashKey[ForkServer]()


class ForkedIO(Popen2IO):
    """Pipes to a worker process, as of execnet's `Popen2IOMaster`."""

    def __init__(self, address: str, execmodel: ExecModel) -> None:
        stdin, writes = os.pipe()
        reads, stdout = os.pipe()
        try:
            files = [stdin, stdout, 2]
            self._process = start(
                *(address, f"{importing.__name__}:{importing.work.__name__}", None, files),
                environment=os.environ,
                folder=str(Path.cwd()),
                at_exit=True,
            )
        finally:
            os.close(stdin)
            os.close(stdout)
        super().__init__(os.fdopen(writes, "wb"), os.fdopen(reads, "rb"), execmodel)

    def wait(self) -> int | None:
        with suppress(OSError):
            return self._process.wait()
        return None

    def kill(self) -> None:
        with suppress(OSError):
            self._process.kill()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[XSpec]) -> None:
    """Have execnet fork the processes that it would start, if the system can and several are due."""
    if not AVAILABLE or sum(bool(each.popen) for each in specs) < 2:
        return
    plugins = [f"-p{each}" for each in config.option.plugins]
    file = [f"-c{config.inipath}"] if config.inipath is not None else []
    os.environ[importing.ARGUMENTS] = json.dumps([*plugins, *file, *config.args])
    server = config.stash[SERVER] = ForkServer(importing.__name__)
    del os.environ[importing.ARGUMENTS]
    if server.wait():
        fork_from(server.address)


def fork_from(address: str) -> None:
    """Have execnet fork the processes that it would start. address: of the fork server."""

    def create_io(spec: XSpec, execmodel: ExecModel) -> Any:
        return ForkedIO(address, execmodel) if spec.popen else ORIGINAL(spec, execmodel)

    execnet.gateway_io.create_io = create_io


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the server, and the workers that are left."""
    execnet.gateway_io.create_io = ORIGINAL
    if server := config.stash.get(SERVER, None):
        server.close()
