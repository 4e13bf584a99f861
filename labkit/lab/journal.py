"""The handle of a lab's journal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from labkit.core import journal as core
from labkit.lab.portal import Portal

if TYPE_CHECKING:
    import pandas


class LabJournal:
    """All that happened in a lab."""

    def __init__(self, portal: Portal, journal: core.Journal) -> None:
        self._portal = portal
        self._journal = journal

    def frame(self, kind: str | None = None, actor: str | None = None) -> pandas.DataFrame:
        """The records as a DataFrame, a row each; of one kind or one actor if asked."""
        return self._portal.call(self._journal.frame, kind, actor)

    def canonical(self) -> str:
        """The records as text that two runs of one seeded story share byte for byte."""
        return self._portal.call(self._journal.canonical)

    def select(self, kind: str | None = None, actor: str | None = None) -> list[core.Record]:
        """The records of one kind, of one actor, or of both."""
        return self._portal.call(self._journal.select, kind, actor)

    def clear(self) -> None:
        """Forget what happened so far."""
        self._portal.call(self._journal.clear)

    @property
    def dropped(self) -> int:
        """How many records are gone because the journal was full."""
        return self._journal.dropped

    def __len__(self) -> int:
        return len(self._journal)

    def __iter__(self) -> Iterator[core.Record]:
        return iter(self.select())

    def __repr__(self) -> str:
        return f"<journal: {len(self)} records, {self.dropped} dropped>"

    def _repr_html_(self) -> str:
        frame = self.frame().tail(20)
        html: str = frame.to_html(max_cols=8)
        return f"<b>{len(self)} records</b>, the last {len(frame)}:{html}"
