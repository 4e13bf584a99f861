"""Base of the faults that happen once, at a moment of a story, and that count themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.lab.lab import Lab

if TYPE_CHECKING:
    from labkit.hunt.faults.drawn_faults import DrawnFault


class MomentFault:
    """A fault at the moment `after` of a story, whose effect lasts for the seconds `down`.

    hits: how often it did hit; absent: once it has ended without a hit, a sentence about a name that the lab lacks.
    """

    def __init__(self, lab: Lab, fault: DrawnFault, name: str) -> None:
        self.hits, self.absent = 0, ""
        self._lab = lab
        self._down = float(fault.settings.get("down", 0.0))
        self._last = 0.0
        self._is_over = False
        lab.at(fault.settings.get("after", 0.0), self._happen)

    def _act(self) -> None:
        """Do what the fault does, after `_note_hit`; nothing if there is nothing that it can hit."""
        raise NotImplementedError

    def _happen(self) -> None:
        if not self._is_over:
            self._act()

    def _note_hit(self) -> None:
        self.hits += 1
        self._last = self._lab.clock.time

    def count(self) -> None:
        """Do nothing: the fault counts itself."""

    def end(self) -> float | None:
        """Hit no more; return the lab time at which the effect is over, None without a hit."""
        self._is_over = True
        return self._last + self._down if self.hits else None
