"""Processes of Python, forked from one that has imported labkit: a start takes one to four CPU seconds otherwise."""

from __future__ import annotations

import atexit
import functools
import json
import os
import runpy
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Self

from labkit.conformance import fork_server
from labkit.conformance.fork_server import AVAILABLE, ForkedProcess, ForkServer
from labkit.hunt.workers import worker
from labkit.lab import server_process
from labkit.reporting import preload, provisioner
from tests.dev import forked_command

# What a kernel runs to have the servers of its labs forked.
STARTUP = f"import {__name__}\n{__name__}.install()\ndel tests\n"


class Forked(ForkedProcess):
    """The part of `subprocess.Popen` that labkit and tests use, for a command that `run` understands.

    address: of the fork server. At the end of its context the process is killed.
    """

    stdin: IO[Any]  # type: ignore[assignment]
    stdout: IO[Any]  # type: ignore[assignment]
    stderr: IO[Any]  # type: ignore[assignment]

    def __init__(
        self,
        address: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        text: bool = False,
        start_new_session: bool = True,  # it has its own session in any case
        **streams: IO[Any] | int | None,
    ) -> None:
        assert command[0] == sys.executable
        files, piped = [0, 1, 2], []
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            given = streams.pop(name, None)
            if given == subprocess.PIPE:
                reads, writes = os.pipe()
                own, files[number] = (reads, writes) if number else (writes, reads)
                setattr(self, name, os.fdopen(own, ("r" if number else "w") + ("" if text else "b")))
                piped.append(files[number])
            elif given is not None:
                files[number] = given if isinstance(given, int) else given.fileno()
        assert not streams
        try:
            started = fork_server.start(
                *(address, f"{__name__}:{run.__name__}", command[1:], files),
                environment=os.environ if env is None else env,
                folder=str(Path.cwd()),
                at_exit=True,
            )
        finally:
            for each in piped:
                os.close(each)
        super().__init__(started.connection)

    def communicate(self) -> tuple[str, str]:
        """Wait for its end; return its output since it was last read, of standard output and of standard error."""
        self.wait()
        printed = ["" if each.closed else each.read() for each in (self.stdout, self.stderr)]
        self.close()
        return printed[0], printed[1]

    def close(self) -> None:
        for each in (self.stdin, self.stdout, self.stderr):
            if each is not None:
                each.close()
        super().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self.close()


def run(command: list[str], _: object) -> None:
    """Run in this process what `python COMMAND` runs: a module, -m NAME, or a program, -c TEXT, with arguments."""
    if forked_command.ADDRESS in os.environ:
        install()
    if path := os.environ.get("PYTHONPATH"):
        sys.path[:] = [*path.split(os.pathsep), *sys.path]
    while command[0] not in ("-c", "-m"):
        command = command[1:]
    kind, program, *arguments = command
    sys.argv = [kind, *arguments]
    if kind == "-c":
        exec(program, {"__name__": "__main__"})
    else:
        warnings.filterwarnings("ignore", ".*found in sys.modules", RuntimeWarning)  # as it is to be
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def forking(address: str) -> Any:
    """Return what replaces `subprocess` in a module of labkit. address: of the fork server."""
    names = {"PIPE": subprocess.PIPE, "TimeoutExpired": subprocess.TimeoutExpired}
    return SimpleNamespace(Popen=functools.partial(Forked, address), **names)


def install(address: str | None = None) -> None:
    """Have labkit fork its workers and servers in this process. address: by default as the environment has it."""
    for module in (worker, fork_server, server_process):
        module.subprocess = forking(address or os.environ[forked_command.ADDRESS])  # type: ignore[attr-defined]


@functools.cache
def shared_server() -> str:
    """Return the address of this session's fork server, the one of the comparison of notebooks if there is one.

    Empty where the system cannot fork.
    """
    if not AVAILABLE:
        return ""
    if address := os.environ.get(provisioner.ADDRESS):
        while not fork_server.is_ready(address):
            time.sleep(0.02)
        return address
    server = ForkServer(preload.PRELOAD)
    atexit.register(server.close)
    assert server.wait()
    return server.address


def python(*arguments: object, env: Mapping[str, str] | None = None) -> Forked:
    """Start `python ARGUMENTS`, as `run` understands them. env: variables besides those of this process."""
    command, variables = [sys.executable, *map(str, arguments)], {**os.environ, **(env or {})}
    return Forked(
        shared_server(), command, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def labkit(*arguments: object, env: Mapping[str, str] | None = None) -> Forked:
    """Start `labkit ARGUMENTS`."""
    return python("-m", "labkit", *arguments, env=env)


@contextmanager
def serving(
    *arguments: object, env: Mapping[str, str] | None = None
) -> Iterator[tuple[Forked, dict[str, Any]]]:
    """Run `labkit serve --json ARGUMENTS`, and provide its process and its ready line."""
    with labkit("serve", "--json", *arguments, env=env) as process:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield process, json.loads(line)
