"""The project in `outside` is run by a pytest of its own, in an empty folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dev import forked_command

collect_ignore = ["outside"]


@pytest.fixture(scope="module", autouse=True)
def forked_pytest(fork_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have the command `pytest` forked from a process that has imported labkit, where the system can fork."""
    folder = tmp_path_factory.mktemp("commands")
    if fork_server:
        forked_command.link(folder)
    folders = (str(folder), str(Path(sys.executable).parent), os.environ["PATH"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join(folders))
        patch.setenv(forked_command.ADDRESS, fork_server)
        yield
