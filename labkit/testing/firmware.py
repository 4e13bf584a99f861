"""Programs of a test that live on the time of its lab, and what they printed in the report of a failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError
from labkit.core.record_lines import one_line
from labkit.core.words import counted

if TYPE_CHECKING:
    from labkit.lab.firmware import FirmwareRun
    from labkit.lab.lab import Lab

LINES = 40  # last lines of a program that a report shows
LONGEST = 300  # characters of a line


class Firmware:
    """Fixture `firmware`: a function that starts a program on the time of the test's lab.

    lab: of the test; runs: of the programs that it has started.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.runs: list[FirmwareRun] = []

    def __call__(self, command: Sequence[str | Path], **options: Any) -> FirmwareRun:
        """Start a program and return its run, as `lab.firmware` does.

        command: the program and its arguments; options: those of `lab.firmware`. Raises LabError as it does.
        """
        run = self._lab.firmware(command, **options)
        self.runs.append(run)
        return run

    def __repr__(self) -> str:
        return f"<firmware of a test: {counted(len(self.runs), 'program')}>"

    def close(self) -> None:
        """End all programs."""
        for run in self.runs:
            if not self._lab.closed:
                run.stop()


def firmware_sections(firmware: Firmware) -> Iterator[tuple[str, str]]:
    """Yield a title and a text for each program of a test: its last lines, and how it ended."""
    for run in firmware.runs:
        yield f"firmware {run.identity}: its output", "\n".join(_lines(run))


def _lines(run: FirmwareRun) -> Iterator[str]:
    try:
        printed = run.output
        if len(printed) > LINES:
            yield f"the last {LINES} of {counted(len(printed), 'line')}:"
        yield from (one_line(str(each), LONGEST) for each in printed[-LINES:])
        if not printed:
            yield "it printed nothing"
        yield "it runs" if run.ended is None else str(run.ended)
    except LabError as error:  # its lab has failed
        yield str(error)
