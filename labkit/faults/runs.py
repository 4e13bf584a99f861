"""Work that faults hold for lab time: of a run of a script once, however many of its calls are held side by side."""

from __future__ import annotations

from labkit.core.holding import Holding


class Runs:
    """While anything of a run is held, the run is no activity."""

    def __init__(self, holding: Holding) -> None:
        self._holding = holding
        self._held: dict[int, int] = {}

    def begin(self, actor: str, run: int | None = None) -> None:
        """Something is held from now on; `end` has to follow. run: the record of the run whose it is, if any."""
        if run is None:
            self._holding.begin(actor)
            return
        self._held[run] = self._held.get(run, 0) + 1
        if self._held[run] == 1:
            self._holding.begin(f"run {run}")

    def end(self, actor: str, run: int | None = None) -> None:
        """It goes on, or was given up."""
        if run is None:
            self._holding.end(actor)
            return
        self._held[run] -= 1
        if not self._held[run]:
            del self._held[run]
            self._holding.end(f"run {run}")
