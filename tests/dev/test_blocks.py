"""Every code block of the book's pages runs, and has the result that the page shows."""

from __future__ import annotations

import re
import shutil
import socket
from contextlib import suppress
from pathlib import Path
from unittest import SkipTest

import pytest

from labkit.core.errors import SettingsError
from labkit.dev.book import SOURCES
from tests.dev import blocks

DEAR = re.compile(
    r"labkit (hunt|fleet|bench|report)|\bhunt\(|\.run\(|\$ pytest .*-n "
)  # in pages that run fleets and hunts
PAGES = [
    pytest.param(
        path,
        marks=[pytest.mark.sampled] if DEAR.search(path.read_text()) else [],
        id=path.relative_to(SOURCES).as_posix(),
    )
    for path in sorted(SOURCES.rglob("*.md"))
]
FENCE = re.compile(r"^`{3,}(?:\{([\w-]+)\} ?)?(\S*)", re.MULTILINE)
DIRECTIVES = {"toctree", "eval-rst", "grid", "include", "note", "raw"}
SKIPPED = 2  # blocks that do not run, each with its reason


def run(path: Path, folder: Path, server: str = "") -> int:
    """Run the blocks of a page and return their number. server: address of a fork server for commands, if any."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with blocks.page(path, folder, port, server) as examples:
        for each in examples:
            with suppress(SkipTest):  # of this block alone: those after it run
                each.evaluate()
    return len(examples)


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
@pytest.mark.usefixtures("forks")
@pytest.mark.parametrize("path", PAGES)
def test_every_block_of_a_page_has_the_result_shown(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fork_server: str
) -> None:
    text = path.read_text()
    for needed in ("node", "javac"):
        if re.search(rf"^\$ .*\b{needed} ", text, re.MULTILINE) and not shutil.which(needed):
            pytest.skip(f"needs {needed}")
    monkeypatch.chdir(tmp_path)
    has_blocks = any(language in blocks.LANGUAGES for _, language in FENCE.findall(text))
    server = (
        "" if "kill -9" in text else fork_server
    )  # a killed client cannot wait until its process has ended
    assert bool(run(path, tmp_path, server)) == has_blocks


def test_each_block_has_a_language_that_runs_or_is_text() -> None:
    found = {
        fence
        for path in SOURCES.rglob("*.md")
        for fence in FENCE.findall(path.read_text())
        if fence != ("", "")
    }
    other = {
        fence for fence in found if fence[0] not in DIRECTIVES and fence[1] not in (*blocks.LANGUAGES, "text")
    }
    assert other == set()
    assert {language for _, language in found} >= {"python", "yaml", "lua", "console"}


def test_the_blocks_that_do_not_run_are_counted() -> None:
    skips = [
        line
        for path in SOURCES.rglob("*.md")
        for line in re.findall(r"^% skip: .*", path.read_text(), re.MULTILINE)
    ]
    assert all(re.fullmatch(r'% skip: next "\w.+"', line) for line in skips)
    assert len(skips) == SKIPPED


@pytest.mark.parametrize(
    ("block", "error"),
    [
        ("```python\n>>> 1 + 1\n3\n\n```", Exception),
        ("```python\nraise KeyError\n```", KeyError),
        ("```console\n$ echo a\nb\n```", AssertionError),
        ("```console\n$ false || echo wrong\n```", AssertionError),
        ("```{code-block} yaml\n:caption: lab.yaml\nhttps_prt: 1\n```", SettingsError),
        ("```yaml\nguard: {sql: no}\n```", SettingsError),
        ("```lua\nerror('wrong')\n```", AssertionError),
    ],
)
def test_a_wrong_block_fails(
    block: str, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n{block}\n")
    with pytest.raises(error):
        run(page, tmp_path)


def test_a_captioned_block_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    file = "```{code-block} python\n:caption: tools/hello.py\n\nprint('hello from', __name__)\n```\n"
    page.write_text(file + "\n```console\n$ python tools/hello.py\nhello from __main__\n```\n")
    assert run(page, tmp_path) == 2


def test_a_command_in_the_background_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ (sleep 0.1; echo ready; sleep 60) &\nready\n$ echo on…\non 1\n```\n".replace(
            "on…", "on 1"
        )
    )
    assert run(page, tmp_path) == 1
