"""Output of a program: lines, each with its lab time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

MOST_LINES = 20_000  # of a run that are kept; the oldest are dropped
LONGEST = 8192  # bytes of a line; a longer one goes on in the next line


class OutputLine(NamedTuple):
    """A line that a program printed. time: lab time in seconds since 1970; text: without the end of the line."""

    time: float
    text: str

    def __str__(self) -> str:
        return f"{datetime.fromtimestamp(self.time, UTC):%Y-%m-%d %H:%M:%S}  {self.text}"


class ProgramOutput:
    """The output of a run: both stdout and stderr, in the order in which they were written.

    now: returns lab time in seconds; report: called with the text of each line. Bytes that are no UTF-8 are shown as
    `\\xff`. lines: the last MOST_LINES; dropped: number of those before.
    """

    def __init__(self, now: Callable[[], float], report: Callable[[str], object]) -> None:
        self.lines: deque[OutputLine] = deque(maxlen=MOST_LINES)
        self.dropped = 0
        self._now = now
        self._report = report
        self._begun = b""  # of a line whose end has not come

    def add(self, data: bytes) -> None:
        """Add bytes that the program has printed."""
        *ended, self._begun = (self._begun + data).split(b"\n")
        for line in ended:
            self._cut(line)
        while len(self._begun) > LONGEST:
            self._line(self._begun[:LONGEST])
            self._begun = self._begun[LONGEST:]

    def end(self) -> None:
        """End a last line without a line end: nothing more will be printed."""
        if self._begun:
            self._cut(self._begun)
            self._begun = b""

    def _cut(self, line: bytes) -> None:
        self._line(line[:LONGEST])
        for at in range(LONGEST, len(line), LONGEST):
            self._line(line[at : at + LONGEST])

    def _line(self, line: bytes) -> None:
        text = line.removesuffix(b"\r").decode(errors="backslashreplace")
        self.dropped += len(self.lines) == MOST_LINES
        self.lines.append(OutputLine(self._now(), text))
        self._report(text)
