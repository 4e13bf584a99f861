"""Live log of `labkit serve`: a line for each refused request, failed script, warning, mail and push."""

from __future__ import annotations

import os
import queue
import stat
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TextIO

from labkit.core.record_lines import is_problem, one_line, record_line
from labkit.core.words import counted

if TYPE_CHECKING:
    from labkit.core.journal import Journal
    from labkit.core.records import Record
    from labkit.providers.mail import Mail, Mailbox

Amount = Literal["problems", "requests", "all", "none"]

Place = Callable[[str, str, str], str]  # solution, handler, operation

LONGEST = 1000  # characters of a line
WAITING = 10_000  # lines that may wait for a slow reader; further ones are only counted
REMEMBERED = 1000  # different lines whose repetitions are counted
PATIENCE = 2.0  # seconds of real time until which the last lines have to be written


def _no_place(solution: str, handler: str, operation: str) -> str:
    return ""


class CallLines:
    """Lines about calls that a handler makes with a mistake, such as of a missing service: with the handler and place.

    A script makes such a call at each run, so that equal lines after the first are counted: of the 10th, the 100th,
    the 1000th … there is a line. every: whether each call has its line, instead.
    """

    def __init__(self, journal: Journal, place: Place, *, every: bool) -> None:
        self._journal = journal
        self._every = every
        self._place = place
        self._counts: dict[tuple[str, str], int] = {}  # by handler and line

    def line(self, record: Record) -> str:
        """Return the line about a call; empty if it is one of many."""
        run = None if record.cause is None else self._journal.find(record.cause)
        handler = "" if run is None or run.kind != "script" else run.summary
        text = record_line(record)
        key = handler, text
        if len(self._counts) >= REMEMBERED and key not in self._counts:
            self._counts.clear()
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if not self._every and str(count).strip("0") != "1":
            return ""
        place = self._place(record.actor, handler, record.summary) if handler else ""
        where = f" in {handler}{f' ({place})' if place else ''}" if handler else ""
        head, _, why = text.partition(": ")
        return f"{head}{where}: {why if self._every or count == 1 else f'the same for the {count}th time'}"


class Log:
    """Writer of log lines to a stream, on its own thread, so that a slow reader does not block the platform.

    A file has no reader: there a line is written before the connection that it is about ends.

    amount: `problems` for refusals, failed scripts, warnings, mails and messages to handsets; `requests` also
    for each request; `all` for each record of the journal; `none` for nothing.
    """

    def __init__(self, stream: TextIO, amount: Amount = "problems") -> None:
        self._stream = stream
        self._at_once = _is_file(stream)
        self._amount = amount
        self._lines: queue.Queue[str | None] = queue.Queue(WAITING)
        self._dropped = 0
        self._calls: CallLines | None = None
        self._stop: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._write, name="labkit log", daemon=True)

    def follow(self, journal: Journal, mailbox: Mailbox, place: Place = _no_place) -> Self:
        """Log the records of a journal and the mails of a mailbox from now on.

        place: returns the files and lines at which a solution's handler may call an operation, as text.
        """
        self._calls = CallLines(journal, place, every=self._amount == "all")
        if self._amount != "none":
            self._stop += [journal.watch(self._record, ended=True), mailbox.watch(self._mail)]
        return self

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stop in self._stop:
            stop()
        try:
            self._lines.put(None, timeout=PATIENCE)
        except queue.Full:  # there is no reader: the thread ends with the process
            return
        self._thread.join(PATIENCE)

    def _record(self, record: Record) -> None:
        if self._amount == "all" or _is_logged(record, requests=self._amount == "requests"):
            misspelt = record.kind == "call" and "hint" in (record.detail or {})
            text = record_line(record) if not misspelt or self._calls is None else self._calls.line(record)
            if text:
                self._add(record.time / 1_000_000, text)

    def _mail(self, mail: Mail) -> None:
        links = " ".join(mail.links)
        self._add(mail.time, f"mail {mail.solution} to {', '.join(mail.recipients)}: {mail.subject} {links}")

    def _add(self, seconds: float, text: str) -> None:
        when = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
        line = f"{when} {one_line(text, LONGEST)}\n"
        if self._at_once:
            self._put(line)
            return
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._dropped += 1

    def _write(self) -> None:
        while (text := self._lines.get()) is not None:
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                text = f"… {counted(dropped, 'line')} left out\n{text}"
            if not self._put(text):
                return

    def _put(self, text: str) -> bool:
        """Write a text, and return whether it could be: not if the reader has left, or the disk is full."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            return False
        return True


def _is_file(stream: TextIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # it has no number, or is closed
        return False


def _is_logged(record: Record, *, requests: bool) -> bool:
    """Return whether a record is a problem, a message that reached a person, or a request with `requests`."""
    return record.kind == "delivery" or is_problem(record) or (requests and record.kind == "request")
