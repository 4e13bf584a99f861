"""Progress bar of a fleet's run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from labkit.core.bars import progress_bar
from labkit.fleet.measures import Tick


class ProgressSource(Protocol):
    """A run that a progress bar can show. began: lab time; lasting: its length in seconds, None without an end."""

    @property
    def began(self) -> float: ...
    @property
    def lasting(self) -> float | None: ...
    def on_tick(self, callback: Callable[[Tick], object]) -> None: ...


class Progress:
    """Progress bar over the lab time of a run, shown while the run is waited for."""

    def __init__(self, run: ProgressSource, wanted: bool | None) -> None:
        self._run = run
        self._last = run.began
        self._requests = 0
        if wanted is None:
            wanted = sys.stderr.isatty() or "JPY_SESSION_NAME" in os.environ
        layout = "{desc} {percentage:3.0f}%|{bar}| {postfix} [{elapsed}<{remaining}]"
        self._bar = progress_bar(
            total=run.lasting,
            disable=not wanted,
            leave=False,
            bar_format=layout if run.lasting is not None else "{desc} {postfix} [{elapsed}]",
        )
        run.on_tick(self._show)

    def _show(self, tick: Tick) -> None:
        self._requests += tick.requests
        when = datetime.fromtimestamp(tick.time, UTC)
        self._bar.set_description_str(f"{when:%Y-%m-%d %H:%M:%S}", refresh=False)
        self._bar.set_postfix_str(f"{self._requests} requests", refresh=False)
        self._bar.update(tick.time - self._last)
        self._last = tick.time

    def __enter__(self) -> None:
        """Show the bar from now on."""

    def __exit__(self, *_: object) -> None:
        self._bar.close()
