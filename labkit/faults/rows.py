"""Rows of the table of faults."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.faults.fault import ActiveFault, Origin, State
from labkit.settings import FaultSettings


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One fault as a row of a table.

    state: `waiting`, `active` or `ended`; origin: `settings` (a reset restores it) or `hand`; settings: as it was
    added.
    """

    name: str
    where: str
    does: str
    often: str
    whom: str
    seen: int
    hits: int
    state: State
    origin: Origin
    settings: FaultSettings

    @property
    def sentence(self) -> str:
        """Place, actions, frequency and scope: `POST /a: status 503, first 2, identity t-00*`."""
        return ", ".join(each for each in (f"{self.where}: {self.does}", self.often, self.whom) if each)


def row_of(fault: ActiveFault) -> FaultRow:
    """Return the row of a fault."""
    return FaultRow(
        fault.name,
        fault.settings.where,
        fault.does,
        fault.often,
        fault.whom,
        fault.seen,
        fault.hits,
        fault.state,
        fault.origin,
        fault.settings,
    )
