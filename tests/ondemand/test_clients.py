"""Clients of labs on demand in other processes: the tests of the book's page, killed while they run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from labkit.dev.book import SOURCES
from tests import plugins
from tests.forked_starts import serving
from tests.rig import written

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from
PAGE = (SOURCES / "how-to" / "labs-for-tests-in-node-java-and-python.md").read_text()
FILES = dict(re.findall(r"```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("heading", "needed"), [("Node", "node"), ("Java", "javac"), ("Python, with pytest-xdist", "bash")]
)
def test_a_client_that_is_killed_leaves_no_lab(heading: str, needed: str, tmp_path: Path) -> None:
    if not shutil.which(needed):
        pytest.skip(f"needs {needed}")
    written(tmp_path, FILES)
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    commands = "\n".join(re.findall(r"^\$ (.*)", section, re.MULTILINE))
    options = ("--labs", "8", "--seed", "7", "--set", "guard.lease=2", "--ca-file", tmp_path / "ca.pem")
    with serving("--set", "https_port=0", *options) as (_, ready):
        control = ready["control"]
        environment = {
            **os.environ,
            **plugins.ENVIRONMENT,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "LABKIT_URL": control["url"],
            "LABKIT_TOKEN": control["token"],
        }

        def labs() -> Any:
            headers = {"Authorization": f"Bearer {control['token']}"}
            return httpx.post(f"{control['url']}/v1/labs/all", headers=headers).raise_for_status().json()

        started = ["bash", "-ec", commands]
        with subprocess.Popen(started, cwd=tmp_path, env=environment, start_new_session=True) as client:
            while True:
                assert client.poll() is None
                if labs():
                    os.killpg(
                        client.pid, signal.SIGSTOP
                    )  # so that the client cannot end them before it is killed
                    if labs():
                        break
                    os.killpg(client.pid, signal.SIGCONT)
                time.sleep(0.02)  # nothing tells that a lab starts
            os.killpg(client.pid, signal.SIGKILL)
        while labs():  # a stream that told their end would renew their lease
            time.sleep(0.1)
