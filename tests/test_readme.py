"""README: its example has the result that it shows, its links lead somewhere, and it stays short.

The curl lines of the notebooks' folder have the results that they show, too.
"""

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

from tests.guard import PATIENCE
from tests.rig import invoked, ran

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
LINK = re.compile(r"\]\(([^)]+)\)")


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


def test_each_command_prints_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for command, expected in steps(README):
        printed = invoked(*command.split()[1:]).output.splitlines()
        assert [each.rstrip() for each in printed if each] == expected, command


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("openssl")), reason="needs curl and openssl")
def test_every_curl_line_has_the_result_shown(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    config = tmp_path / "notebooks" / "lab.yaml"
    config.write_text(config.read_text().replace("8443", port))
    (serve, _), *calls = steps((ROOT / "notebooks" / "curl.md").read_text())
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
        ended = ran("bash", "-O", "expand_aliases", input=marked, cwd=tmp_path, check=True)
    finally:
        server.terminate()
        _, log = server.communicate(timeout=PATIENCE)
    assert ended.stderr == ""
    outputs = ended.stdout.split("<end>\n")
    for (command, expected), output in zip(calls, outputs, strict=False):
        shown = "\n".join(expected).replace("[?*]", "[[]?*]")
        assert fnmatchcase(output.strip(), shown), f"{command}\n{output}"
    assert log == ""


def test_it_is_short_and_has_one_picture() -> None:
    assert len(README.splitlines()) <= 150
    [picture] = re.findall(r"!\[[^\]]{20,}\]\(([^)]+)\)", README)
    data = (ROOT / picture).read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) < 100_000


def test_each_link_leads_to_a_file_of_the_project() -> None:
    """Also those of CONTRIBUTING.md. A link to a page has the page's title, or describes it."""
    for name in ("README.md", "CONTRIBUTING.md"):
        links = [link for link in LINK.findall((ROOT / name).read_text()) if not link.startswith("http")]
        assert links
        assert [link for link in links if not (ROOT / link.partition("#")[0]).exists()] == []
    how_to = dict(re.findall(r"\[([^\]]+)\]\((notebooks/book/how-to/[^)]+\.md)\)", README))
    assert len(how_to) >= 8
    for title, path in how_to.items():
        assert (ROOT / path).read_text().startswith(f"# {title}\n")


def test_each_how_to_is_in_their_index_by_its_title() -> None:
    folder = ROOT / "notebooks" / "book" / "how-to"
    listed = re.findall(r"^- \[([^\]]+)\]\(([^/)]+\.md)\)$", (folder / "index.md").read_text(), re.MULTILINE)
    pages = [each for each in folder.glob("*.md") if each.name != "index.md"]
    titles = {each.name: each.read_text().splitlines()[0].removeprefix("# ") for each in pages}
    assert {name: title for title, name in listed} == titles
    assert len(listed) == len(pages)
