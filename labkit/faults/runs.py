"""Counts of work that faults delay for lab time. A script run counts once, even if several of its calls are delayed."""

from __future__ import annotations

from labkit.labtime.holding import Holding
from labkit.labtime.turns import Turn


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
        work = _work(run, turn)
        if work is None:
            self._holding.begin(actor)
            return
        held = self._held.setdefault(work, [])
        held.append(held[0] if held else actor if run is None else f"run {run}")
        if len(held) == 1:
            self._holding.begin(held[0])
            if turn is not None:
                turn.release()

    def end(self, actor: str, run: int | None = None, turn: Turn | None = None) -> None:
        """Count the delay as over: the operation resumes, or was cancelled."""
        work = _work(run, turn)
        if work is None:
            self._holding.end(actor)
            return
        name = self._held[work].pop()
        if not self._held[work]:
            del self._held[work]
            self._holding.end(name)
            if turn is not None:
                turn.resume()


def _work(run: int | None, turn: Turn | None) -> Turn | int | None:
    """Return what an operation belongs to: a turn or a run, None for neither."""
    if run is None:
        return turn if turn is not None and turn.of_story else None
    return run if turn is None else turn
