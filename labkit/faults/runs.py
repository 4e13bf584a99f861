"""Counts of work that faults delay for lab time. A script run counts once, even if several of its calls are delayed."""

from __future__ import annotations

from labkit.core.holding import Holding
from labkit.core.turns import Turn


class DelayedRuns:
    """Suspension of script runs while any of their calls is delayed: they are no activity, and release their turn."""

    def __init__(self, holding: Holding) -> None:
        self._holding = holding
        self._held: dict[
            Turn | int, list[str]
        ] = {}  # the run's name in `holding`, once for each delayed call

    def begin(self, actor: str, run: int | None = None, turn: Turn | None = None) -> None:
        """Count an operation as delayed; `end` has to follow, with the same arguments.

        run: the record of the script run that it belongs to, if any; turn: the turn in which that run and all
        its calls execute.
        """
        if run is None:
            self._holding.begin(actor)
            return
        held = self._held.setdefault(run if turn is None else turn, [])
        held.append(f"run {run}" if not held else held[0])
        if len(held) == 1:
            self._holding.begin(held[0])
            if turn is not None:
                turn.release()

    def end(self, actor: str, run: int | None = None, turn: Turn | None = None) -> None:
        """Count the delay as over: the operation resumes, or was cancelled."""
        if run is None:
            self._holding.end(actor)
            return
        work = run if turn is None else turn
        name = self._held[work].pop()
        if not self._held[work]:
            del self._held[work]
            self._holding.end(name)
            if turn is not None:
                turn.resume()
