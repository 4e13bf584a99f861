"""Parts of a lab that its author has added, and that may never run: handlers of events, and fleets."""

from __future__ import annotations

from typing import Literal

PartState = Literal["idle", "failed", "ran"]


class LabParts:
    """Parts of a lab.

    handlers: solution, and event as in the journal; fleets: by the id of their product, whether one of them has run;
    devices: identities of those that have a handle.
    """

    def __init__(self) -> None:
        self.handlers: set[tuple[str, str]] = set()
        self.fleets: dict[str, bool] = {}
        self.devices: set[str] = set()

    def add_handler(self, solution: str, service: str, event: str) -> None:
        """Note a handler of an event."""
        self.handlers.add((solution, f"{service.lower()} {event}"))

    def add_fleet(self, product: str, *, has_run: bool) -> None:
        """Note a fleet of a product."""
        self.fleets[product] = self.fleets.get(product, False) or has_run
