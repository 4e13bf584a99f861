"""Progress of calls that last: the thread that waits draws it, so that it moves however busy the lab's thread is.

At a terminal it is a line on stderr; in a notebook an output of the cell, which is empty once the call has ended. Calls
of less than half a second show nothing, nor do other threads, forks, and notebooks that a program runs (papermill,
nbval): it cannot be asked for input, which the request of each cell says.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import ClassVar, Protocol, Self

from labkit.core.handle import call_name, cells_shell
from labkit.core.host_time import monotonic
from labkit.core.interrupts import interrupts
from labkit.core.words import plural

PATIENCE = 0.5  # real seconds of a call that shows nothing
PERIOD = 0.25  # real seconds from one drawing to the next
WIDTH = 10  # characters of a bar


class Screen(Protocol):
    """Place of one line, which is drawn over and removed at the end."""

    def draw(self, text: str) -> None: ...
    def close(self) -> None: ...


class Progress:
    """Progress of a call, within `with`. Inner calls that wait draw it as well, and none of their own.

    name: of the call, by default that of the handle's method; total, unit: what it counts, as `done`; wanted: False for
    no drawing, True also if stderr is no terminal; look: called before each drawing, to set `done` and `note`; began:
    time of `monotonic`, by default now.
    """

    current: ClassVar[Progress | None] = None  # the outermost one, of the main thread

    def __init__(
        self,
        name: str = "",
        total: float | None = None,
        unit: str = "",
        *,
        wanted: bool | None = None,
        look: Callable[[Progress], object] = lambda progress: None,
        began: float | None = None,
    ) -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = 0.0
        self.note = ""  # what else there is to tell
        self._look = look
        self._wanted = wanted
        self._screen: Screen | None = None
        self._owner = os.getpid(), threading.get_ident()
        self._began = monotonic() if began is None else began
        self._due = self._began + PATIENCE

    def __enter__(self) -> Self:
        if Progress.current is None and threading.current_thread() is threading.main_thread():
            Progress.current = self
        return self

    def __exit__(self, *_: object) -> None:
        if Progress.current is self:
            Progress.current = None
        self.clear()

    def clear(self) -> None:
        """Remove the line of progress, so that another line can be printed; it is drawn again below that one."""
        if self._screen is not None:
            self._screen.close()
            self._screen = None

    def update(self, count: float = 1, note: str | None = None) -> None:
        """Count what has been done, in any thread, and draw if it is time."""
        self.done += count
        self.note = self.note if note is None else note
        tick()

    def draw_if_due(self) -> None:
        """Draw, in the thread that made it, unless it was drawn a moment ago."""
        if (now := monotonic()) < self._due or self._owner != (os.getpid(), threading.get_ident()):
            return
        self._due = math.inf
        if self._screen is None and self._wanted is not False:
            self._screen = screen(self._wanted)
        if self._screen is None:
            return
        self._look(self)
        self._screen.draw(self.text(now - self._began))
        self._due = monotonic() + PERIOD

    def text(self, seconds: float) -> str:
        """Return the line to draw. seconds: real time since the start."""
        parts = [f"{seconds:.1f} s"]
        if self.unit:
            of = "" if self.total is None else f" of {self.total:,.0f}"
            count = round(self.done if self.total is None else self.total)
            parts.insert(0, f"{self.done:,.0f}{of} {plural(count, self.unit)}")
        if self.note:
            parts.insert(-1, self.note)
        bar = ""
        if self.total:
            part = min(self.done / self.total, 1)
            bar = f"[{'#' * round(part * WIDTH):.<{WIDTH}}] {part:.0%}, "
            if part:
                parts.append(f"about {_rough(seconds / part - seconds)} left")
        self.name = self.name or call_name() or "labkit"
        return f"{self.name}: {bar}{', '.join(parts)}"


def _rough(seconds: float) -> str:
    """Return a duration in the largest unit of which it has two or more: `90 s`, `3 hours`."""
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"


def screen(wanted: bool | None) -> Screen | None:
    """Return the place for progress, None where nobody looks on."""
    shell = cells_shell()
    if getattr(shell, "kernel", None) is None:
        return _Terminal() if wanted or is_watched() else None
    return _Cell(shell.display_pub.publish) if is_watched() else None


def is_watched() -> bool:
    """Return whether somebody looks on: at a terminal, or at a notebook that no program runs."""
    if (kernel := getattr(cells_shell(), "kernel", None)) is not None:
        return bool(kernel.get_parent().get("content", {}).get("allow_stdin"))
    return sys.stderr is not None and sys.stderr.isatty()


class _Terminal:
    def draw(self, text: str) -> None:
        self._write(text[: shutil.get_terminal_size().columns - 1])

    def close(self) -> None:
        self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()


class _Cell:
    def __init__(self, publish: Callable[..., object]) -> None:
        self._publish = publish
        self._transient = {"display_id": os.urandom(16).hex()}
        self._is_drawn = False

    def draw(self, text: str) -> None:
        update, self._is_drawn = self._is_drawn, True
        self._publish({"text/plain": text}, {}, transient=self._transient, update=update)

    def close(self) -> None:
        self._publish({}, {}, transient=self._transient, update=True)


def tick() -> None:
    """Draw the progress of this thread's call, if there is one and it is time."""
    if Progress.current is not None:
        Progress.current.draw_if_due()


def period() -> float | None:
    """Return the real seconds after which a wait of this thread has to `tick`, None without progress."""
    return None if Progress.current is None else PERIOD


def wait(
    ended: Callable[[float | None], bool], look: Callable[[Progress], object] = lambda progress: None
) -> None:
    """Wait until a function returns True, and draw meanwhile.

    ended: gets the real seconds for which it may wait, None for no limit; look: as of `Progress`, where no progress is
    under way yet.
    """
    if threading.current_thread() is not threading.main_thread():
        while not ended(None):
            pass
        return
    tick()
    began = monotonic()
    if ended(PERIOD if Progress.current is not None else PATIENCE):
        return
    with Progress(look=look, began=began), interrupts() as came:
        tick()
        while not ended(PERIOD):
            if came:
                raise KeyboardInterrupt
            tick()


def lab_time(seconds: float) -> str:
    """Return a moment of lab time as text. seconds: since 1970."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} of lab time"
