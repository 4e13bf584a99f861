"""Evaluators of the code blocks of the book's pages: a page's blocks run in order, in one empty folder.

python: runs in the page's namespace; with prompts, its results are compared. console: lines with `$` run in the page's
shell, and what they print is compared, where `…` is any text; a command with `&` at its end is waited for until it has
printed what the page shows. python, yaml, lua and FILES: with a caption the block is a file of that name;
without one, YAML is read as a lab.yaml, and Lua runs as a cell with `%%lua`, or as a route of a solution. `% skip:
next "reason"` before a block leaves it out.
"""

from __future__ import annotations

import doctest
import fnmatch
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from IPython.core.interactiveshell import InteractiveShell
from sybil import Document, Example, Region, Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser, SkipParser

from labkit import Lab
from labkit.settings import load
from tests import plugins
from tests.dev import forked_command
from tests.guard import PATIENCE

END = "<end of the command>"
PORT = "8443"  # replaced in all blocks, so that pages can be tested at the same time


class Shell:
    """A bash in a folder, with the commands of this environment, for the console blocks of a page.

    server: address of a fork server for `labkit` and `pytest`; without one each is a new process.
    """

    def __init__(self, folder: Path, server: str) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._commands = TemporaryDirectory(prefix="labkit-")
        if server:
            forked_command.link(Path(self._commands.name))
            path = f"{self._commands.name}{os.pathsep}{path}"
        self._process = subprocess.Popen(
            ["bash", "-O", "expand_aliases"],
            cwd=folder,
            env={
                **os.environ,
                **plugins.ENVIRONMENT,
                forked_command.ADDRESS: server,
                "PATH": path,
                "PYTHONUNBUFFERED": "1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, command: str, expected: str) -> None:
        """Run a command and compare what it prints. Raises AssertionError if it differs."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\necho '{END}'\n")
        self._process.stdin.flush()
        output, has_ended = "", False
        while not (has_ended and (not command.endswith("&") or _matches(output, expected))):
            line = self._process.stdout.readline()
            assert line, f"{command}: the shell ended\n{output}"
            before, end, _ = line.partition(END)
            output += before if end else line
            has_ended = has_ended or bool(end)
        assert _matches(output, expected), f"{command}\nprinted\n{output}\nthe page has\n{expected}"

    def close(self) -> None:
        """End the shell and all that it started."""
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.communicate(timeout=PATIENCE)
        self._commands.cleanup()


def _matches(output: str, expected: str) -> bool:
    pattern = expected.strip().replace("[", "[[]").replace("?", "[?]").replace("*", "[*]").replace("…", "*")
    return fnmatch.fnmatchcase(output.strip(), pattern)


def _text(example: Example) -> str:
    return str(example.parsed).replace(PORT, str(example.namespace["port"]))


def _file(example: Example) -> Path | None:
    """Return the file that a block is, None if it has no caption. Writes it."""
    caption = (example.region.lexemes.get("options") or {}).get("caption")
    if not caption:
        return None
    path = Path(example.namespace["folder"]) / str(caption)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text(example))
    return path


def _write(example: Example) -> None:
    _file(example)


def _console(example: Example) -> None:
    steps: list[tuple[str, list[str]]] = []
    for line in _text(example).splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps:
            steps[-1][1].append(line)
    assert steps, "a console block has a line that begins with `$ `"
    for command, expected in steps:
        example.namespace["shell"].run(command, "\n".join(expected))


def _yaml(example: Example) -> None:
    path = _file(example)
    if path is None:
        path = Path(example.namespace["folder"]) / "block.yaml"
        path.write_text(_text(example))
    elif path.name != "lab.yaml":
        return
    load(path)


def _lua(example: Example) -> None:
    if _text(example).startswith("%%lua"):
        shell = InteractiveShell(user_ns=example.namespace)
        shell.run_line_magic("load_ext", "labkit")
        shell.run_cell(_text(example)).raise_error()
        if shell.history_manager is not None:
            shell.history_manager.end_session()
    elif _file(example) is None:
        with Lab(seed=7) as lab:
            acme = lab.solution("acme")
            acme.route("GET", "/block", lua=_text(example))
            answer = acme.get("/block")
            assert answer.status_code < 400, answer.text


class PythonFileOrBlockParser(PythonCodeBlockParser):
    """Parser of Python blocks: with a caption the block is a file, which the page runs in a console block."""

    def __call__(self, document: Document) -> Iterator[Region]:
        for region in super().__call__(document):
            if (region.lexemes.get("options") or {}).get("caption"):
                region.evaluator = _write
            yield region


FILES = ("toml", "javascript", "java", "properties")
LANGUAGES = ("python", "console", "yaml", "lua", *FILES)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
BLOCKS = Sybil(
    parsers=[
        PythonFileOrBlockParser(doctest_optionflags=OPTIONS),
        CodeBlockParser("console", _console),
        CodeBlockParser("yaml", _yaml),
        CodeBlockParser("lua", _lua),
        *(CodeBlockParser(each, _write) for each in FILES),
        SkipParser(),
    ],
    pattern="*.md",
)


@contextmanager
def page(path: Path, folder: Path, port: int, server: str = "") -> Iterator[list[Example]]:
    """Provide the blocks of a page, which are to be evaluated in order.

    folder: an empty one, the current folder; server: address of a fork server for its commands, if any.
    """
    document = BLOCKS.parse(path)
    shell = Shell(folder, server)
    document.namespace.update(folder=folder, port=port, shell=shell)
    try:
        yield list(document.examples())
    finally:
        shell.close()
