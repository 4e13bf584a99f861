"""Child processes that receive a JSON command per line and reply with one line each."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from labkit.core.errors import LabkitError
from labkit.core.process import serve_for_long
from labkit.core.progress import wait

Answer = dict[str, Any]


class BenchError(LabkitError):
    """Raised where a measurement cannot be made."""


class Child:
    """A child process, pinned to a core."""

    def __init__(
        self, module: str, *args: str, core: int, environment: Mapping[str, str] | None = None
    ) -> None:
        """environment: variables that differ from those of this process; an empty value removes one."""
        self.name = module.rpartition(".")[2]
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(core), *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=None if environment is None else _merged(environment),
            start_new_session=True,  # Ctrl-C at the terminal is for this process, which then ends it
        )
        self.ready = self._answer()

    def ask(self, do: str, **more: Any) -> Answer:
        """Send a command and return its reply. Raises BenchError where it fails."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Answer:
        stdout = self._process.stdout
        assert stdout is not None
        wait(lambda seconds: bool(select.select([stdout], [], [], seconds)[0]))
        line = stdout.readline()
        if not line:
            raise BenchError(f"the {self.name} process ended with status {self._process.wait()}")
        answer: Answer = json.loads(line)
        if "error" in answer:
            raise BenchError(f"the {self.name} process: {answer['error']}")
        return answer

    def close(self) -> None:
        """End the process and wait until it has ended."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait(timeout=30)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            self._process.terminate()  # it may be busy for long
        self.close()


def _merged(changed: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of this process with some variables changed, and without those that are empty."""
    return {name: value for name, value in {**os.environ, **changed}.items() if changed.get(name, value)}


def prepare(core: int) -> None:
    """Pin this process to a core, where the system supports it, and raise its limit of open files.

    SIGTERM ends it as the end of its program would, so that it removes its temporary files.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)]})
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def serve_commands(ready: Answer, commands: dict[str, Callable[..., Awaitable[Answer]]]) -> None:
    """Send `ready`, then execute commands until standard input ends."""
    loop = asyncio.get_running_loop()
    _say(ready)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        try:
            _say(await commands[command.pop("do")](**command))
        except Exception as error:  # noqa: BLE001  reported to the parent process
            _say({"error": f"{type(error).__name__}: {error}"})


def _say(answer: Answer) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def run_child(main: Callable[[], Awaitable[None]]) -> None:
    """Run `main` as a child process, pinned to the core in the command line."""
    prepare(int(sys.argv[1]))
    run(main())


def run(main: Awaitable[None]) -> None:
    """Run a child's main function on the event loop that the lab uses."""
    from labkit.core.process import loop_factory

    serve_for_long()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main)  # type: ignore[arg-type]
