"""Live log of `labkit serve`: a line for each refused request, failed script, warning, mail and push."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TextIO

from labkit.core.record_lines import is_problem, one_line, record_line

if TYPE_CHECKING:
    from labkit.core.journal import Journal
    from labkit.core.records import Record
    from labkit.providers.mail import Mail, Mailbox

Amount = Literal["problems", "requests", "all", "none"]

LONGEST = 1000  # characters of a line
WAITING = 10_000  # lines that may wait for a slow reader; further ones are only counted
PATIENCE = 2.0  # seconds of real time until which the last lines have to be written


class Log:
    """Writer of log lines to a stream, on its own thread, so that a slow reader does not block the platform.

    amount: `problems` for refusals, failed scripts, warnings, mails and messages to handsets; `requests` also
    for each request; `all` for each record of the journal; `none` for nothing.
    """

    def __init__(self, stream: TextIO, amount: Amount = "problems") -> None:
        self._stream = stream
        self._amount = amount
        self._lines: queue.Queue[str | None] = queue.Queue(WAITING)
        self._dropped = 0
        self._stop: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._write, name="labkit log", daemon=True)

    def follow(self, journal: Journal, mailbox: Mailbox) -> Self:
        """Log the records of a journal and the mails of a mailbox from now on."""
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
            self._add(record.time / 1_000_000, record_line(record))

    def _mail(self, mail: Mail) -> None:
        links = " ".join(mail.links)
        self._add(mail.time, f"mail {mail.solution} to {', '.join(mail.recipients)}: {mail.subject} {links}")

    def _add(self, seconds: float, text: str) -> None:
        when = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
        try:
            self._lines.put_nowait(f"{when} {one_line(text, LONGEST)}\n")
        except queue.Full:
            self._dropped += 1

    def _write(self) -> None:
        while (text := self._lines.get()) is not None:
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                text = f"… {dropped} lines left out\n{text}"
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):  # the reader has left
                return


def _is_logged(record: Record, *, requests: bool) -> bool:
    """Return whether a record is a problem, a message that reached a person, or a request with `requests`."""
    return record.kind == "delivery" or is_problem(record) or (requests and record.kind == "request")
