"""The examples of the README, and the curl lines of the notebooks' folder, have the results that they show."""

from __future__ import annotations

import doctest
import re
import shutil
import socket
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_first_result_is_as_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert tried > 10
    assert failed == 0


def steps(text: str) -> list[tuple[str, list[str]]]:
    """Return (command, expected lines) of a curl session."""
    [block] = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line and not line.startswith("#"):
            found[-1][1].append(line)
    return found


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("openssl")), reason="needs curl and openssl")
def test_every_curl_line_has_the_result_shown(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    config = tmp_path / "notebooks" / "lab.yaml"
    config.write_text(config.read_text().replace("8443", port))
    (serve, _), *calls = steps((ROOT / "notebooks" / "curl.md").read_text())
    (shown_first, _), *others = steps(README)
    assert shown_first == serve
    calls += others
    server = subprocess.Popen(
        [sys.executable, "-m", "labkit", *serve.removesuffix("&").split()[1:]],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        assert (
            server.stdout.readline() == f"labkit serves on 127.0.0.1:{port}; trust ca.pem; Ctrl-C ends it\n"
        )
        marked = "".join(f"{command}\necho '<end>'\n" for command, _ in calls).replace("8443", port)
        ended = subprocess.run(
            ["bash", "-O", "expand_aliases"],
            input=marked,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    finally:
        server.terminate()
        _, log = server.communicate(timeout=20)
    assert ended.stderr == ""
    outputs = ended.stdout.split("<end>\n")
    for (command, expected), output in zip(calls, outputs, strict=False):
        shown = "\n".join(expected).replace("[?*]", "[[]?*]")
        assert fnmatchcase(output.strip(), shown), f"{command}\n{output}"
    shown_log = re.search(r"```text\n(2.*?)```", README, re.DOTALL)
    assert shown_log
    assert [line[20:] for line in log.splitlines()] == [line[20:] for line in shown_log.group(1).splitlines()]


def test_every_package_is_listed_and_exists() -> None:
    listed = set(re.findall(r"^  (\w+(?:/|\.py))\s", README, re.MULTILINE))
    present = {f"{each.name}/" if each.is_dir() else each.name for each in (ROOT / "labkit").iterdir()}
    assert listed <= present
    assert {name for name in present if name[0] != "_" and name != "py.typed"} == listed
