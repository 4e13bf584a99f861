"""The session with control over HTTP in the README has the results that it shows."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LABKIT = f"{sys.executable} -m labkit"


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="needs curl and bash")
def test_the_session_has_the_results_shown(tmp_path: Path) -> None:
    [block] = re.findall(r"```shell-session\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    _, serve, *calls = [each.partition("\n") for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    config = tmp_path / "notebooks" / "lab.yaml"
    config.write_text(config.read_text().replace("8443", port))
    options = serve[0].removeprefix("labkit ").partition(" > ")[0]
    server = subprocess.Popen(
        [*LABKIT.split(), *options.split()], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        (tmp_path / "ready.json").write_text(server.stdout.readline())
        session = f"alias labkit='{LABKIT}'\n" + "".join(
            f"{command}\nprintf '\\n<end>'\n" for command, _, _ in calls
        )
        ended = subprocess.run(
            ["bash", "-O", "expand_aliases"],
            input=session,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=True,
        )
    finally:
        server.terminate()
        server.communicate(timeout=20)
    for (command, _, shown), output in zip(calls, ended.stdout.split("\n<end>"), strict=False):
        assert output.strip() == shown.strip(), command
