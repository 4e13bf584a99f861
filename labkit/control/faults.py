"""Named faults of a lab."""

from __future__ import annotations

from typing import Literal

from labkit.control.data import Data
from labkit.faults import FaultRow
from labkit.platform import Platform
from labkit.settings import FaultSettings


class FaultInfo(Data):
    """A fault, and how often it hit.

    does, often, whom: in words; seen: what it could have hit; hits: what it did; origin: `settings`, whose faults a
    reset puts back, or `hand`.
    """

    name: str
    where: str
    does: str
    often: str
    whom: str
    seen: int
    hits: int
    origin: Literal["settings", "hand"]


class FaultsControl:
    """The named faults of a lab: of requests, service calls, events, outgoing requests and providers."""

    def __init__(self, platform: Platform) -> None:
        self._faults = platform.context.faults
        self._clock = platform.context.clock
        self._products = platform.context.products

    async def all(self) -> list[FaultInfo]:
        """All of them, in the order in which they came."""
        return [_info(each) for each in self._faults.rows()]

    async def add(self, fault: FaultSettings) -> FaultInfo:
        """Add a fault. Raises LabError for a name that is taken, or a place, product or solution that is not there."""
        return _info(self._faults.row(self._faults.add(fault).name))

    async def get(self, name: str) -> FaultInfo:
        """The fault of this name. Raises LabError naming those that are there."""
        return _info(self._faults.row(name))

    async def remove(self, name: str) -> None:
        """Take a fault out. Raises LabError naming those that are there."""
        self._faults.remove(name)

    async def clear(self) -> None:
        """Take all out, those of the settings too, until the next reset; events that are late never come."""
        self._faults.remove_all()

    async def may_delay(self) -> bool:
        """Is there one that may hold something for lab time?"""
        return self._faults.delay

    async def delayed(self, actor: str) -> int:
        """How much of an actor (`product/identity`, a solution) faults hold now."""
        return self._faults.delays.count(actor)

    async def another(self, actor: str | None = None) -> str:
        """Return once a fault holds something more of this actor, or of any: whose it is."""
        with self._faults.delays.watch() as begun:
            while True:
                _, held = await begun.get()
                if actor in (None, held):
                    return held

    async def stuck(self, actor: str) -> str:
        """Return once a fault holds what this actor waits for, on a clock that nobody moves: the fault's name.

        A device waits for its own requests, a solution for whatever is no device's.
        """
        with self._faults.delays.watch() as begun:
            while True:
                fault, held = await begun.get()
                if not self._clock.rate and not self._clock.driven and self._waits_for(actor, held):
                    return fault

    def _waits_for(self, actor: str, held: str) -> bool:
        if self._is_device(actor):
            return held in (actor, actor.partition("/")[0])
        return not self._is_device(held)

    def _is_device(self, actor: str) -> bool:
        product, slash, _ = actor.partition("/")
        return bool(slash) and product in self._products


def _info(row: FaultRow) -> FaultInfo:
    return FaultInfo(
        name=row.name,
        where=row.where,
        does=row.does,
        often=row.often,
        whom=row.whom,
        seen=row.seen,
        hits=row.hits,
        origin=row.origin,
    )
