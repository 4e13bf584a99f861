"""A run of a program: its plan, the start of its process, and its end."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from labkit.core.errors import LabError
from labkit.core.files import SHORT_TEMPORARY, temporary_prefix
from labkit.firmware import processes
from labkit.firmware.output import OutputLine

SHOWN_LINES = 20  # last lines of a program that its error has
LONGEST_SOCKET = 100  # characters of the path of a local socket: 108 at most


@dataclass(frozen=True)
class ProgramPlan:
    """Program to run. name: of the run; seed: of its chance; own: variables of its environment, None to clear one;
    folder: in which it starts, None for an empty one of the run; ends: whether its end is expected."""

    name: str
    command: tuple[str, ...]
    seed: int
    own: Mapping[str, str | None]
    folder: Path | None
    ends: bool


HOW = {
    "kill": "was killed",
    "restart": "was ended for a restart",
    "stop": "was stopped",
    "power cut": "lost its power",
}


class ProgramEnd(NamedTuple):
    """End of a run. time: lab time in seconds since 1970; status: that it returned, None where a signal ended it;
    signal: its name, such as SIGSEGV; by: empty if it ended by itself, else `kill`, `restart`, `stop` or
    `power cut`."""

    time: float
    status: int | None
    signal: str | None
    by: str = ""

    @property
    def how(self) -> str:
        """Manner of its end, without the time: `ended with status 1`."""
        if self.by:
            return HOW[self.by]
        return f"ended by {self.signal}" if self.signal is not None else f"ended with status {self.status}"

    def __str__(self) -> str:
        return f"{self.how} at {datetime.fromtimestamp(self.time, UTC):%Y-%m-%d %H:%M:%S}"


class FirmwareError(LabError):
    """A program on lab time has ended by itself, does not wait, or does not trust the lab's CA.

    identity: name of its run; output: the last lines that it printed, each with its lab time.
    """

    def __init__(self, text: str, identity: str = "", output: Iterable[OutputLine] = ()) -> None:
        super().__init__(text)
        self.identity = identity
        self.output = tuple(output)[-SHOWN_LINES:]


class ProgramEndedError(FirmwareError):
    """A program has ended by itself, which was not expected."""


def new_folder() -> Path:
    """Return a new folder, whose path is short enough for a socket in it."""
    prefix = f"{temporary_prefix()}firmware-"
    made = Path(tempfile.mkdtemp(prefix=prefix))
    if len(str(made)) > LONGEST_SOCKET - len("/socket"):
        made.rmdir()
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=SHORT_TEMPORARY))
    return made


def start_process(
    command: Sequence[str], path: Path, folder: Path, variables: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a process. Return it, and the end of the pipe from which its output is read."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    processes.keep_addresses(True)
    try:
        popen = subprocess.Popen(
            command,
            executable=path,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            start_new_session=True,
        )
    except OSError as error:
        os.close(reading)
        raise LabError(f"firmware: cannot start {str(path)!r}: {error.strerror}") from None
    finally:
        processes.keep_addresses(False)
        os.close(writing)
    return popen, reading
