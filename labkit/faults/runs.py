"""Work that faults hold for lab time: of a run of a script once, however many of its calls are held side by side."""

from __future__ import annotations

from labkit.core.holding import Holding
from labkit.core.turns import Turn


class Runs:
    """While anything of a run is held, the run is no activity, and another has its turn."""

    def __init__(self, holding: Holding) -> None:
        self._holding = holding
        self._held: dict[Turn | int, list[str]] = {}  # as what: once for each that is held

    def begin(self, actor: str, run: int | None = None, turn: Turn | None = None) -> None:
        """Something is held from now on; `end` has to follow, with the same arguments.

        run: the record of the run whose it is, if any; turn: on whose behalf that runs, with all that it calls.
        """
        if run is None:
            self._holding.begin(actor)
            return
        held = self._held.setdefault(run if turn is None else turn, [])
        held.append(f"run {run}" if not held else held[0])
        if len(held) == 1:
            self._holding.begin(held[0])
            if turn is not None:
                turn.give()

    def end(self, actor: str, run: int | None = None, turn: Turn | None = None) -> None:
        """It goes on, or was given up."""
        if run is None:
            self._holding.end(actor)
            return
        work = run if turn is None else turn
        name = self._held[work].pop()
        if not self._held[work]:
            del self._held[work]
            self._holding.end(name)
            if turn is not None:
                turn.go_on()
