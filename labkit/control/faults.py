"""Operations on the named faults of a lab."""

from __future__ import annotations

from typing import Literal

from labkit.control.bounds import Id, Line, Number
from labkit.control.data import Data
from labkit.control.hints import fault_warnings
from labkit.faults import FaultRow
from labkit.platform import Platform
from labkit.settings import FaultSettings


class FaultInfo(Data):
    """A fault, and the number of its hits.

    sentence: the fault in words; where: the place that it hits (`settings.places`); does, often, whom: its actions, its
    frequency and its scope, as text; seen: number of requests, calls or events that it could have hit; hits: number
    that it hit; state:
    `waiting` until its period begins, `active`, or `ended` after its period or its last hit; origin: `settings`, whose
    faults a reset restores, or `hand`; warnings: sentences about a fault that can hit nothing in the lab as it is, such
    as one at a misspelt path.
    """

    name: str
    sentence: str
    where: str
    does: str
    often: str
    whom: str
    seen: int
    hits: int
    state: Literal["waiting", "active", "ended"]
    origin: Literal["settings", "hand"]
    warnings: tuple[str, ...] = ()


class FaultsControl:
    """The named faults of a lab: of requests, service calls, events, outgoing requests and providers."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._faults = platform.context.faults
        self._clock = platform.context.clock
        self._products = platform.context.products

    async def all(self) -> list[FaultInfo]:
        """Return all faults, in the order in which they were added."""
        return [self._info(each) for each in self._faults.rows()]

    async def add(self, fault: FaultSettings) -> FaultInfo:
        """Add a fault. Raises LabError for a name in use, and for an unknown place, product or solution.

        The result's `warnings` name a fault that can hit nothing, since what it needs may be added later.
        """
        return self._info(self._faults.row(self._faults.add(fault).name))

    async def describe(self, fault: FaultSettings) -> FaultInfo:
        """Return what `add` would return, and add nothing. Raises what `add` raises for the fault."""
        return self._info(self._faults.describe(fault))

    async def prepare(self, fault: FaultSettings) -> FaultInfo:
        """Add a fault whose products, solutions, services and providers may be added to the lab later.

        Raises LabError for a name in use.
        """
        row = self._faults.row(self._faults.add(fault, early=True).name)
        return self._info(row, warned=False)

    async def get(self, name: Id) -> FaultInfo:
        """Return the fault with this name. Raises UnknownError, listing the existing names, if there is none."""
        return self._info(self._faults.row(name))

    async def remove(self, name: Id) -> None:
        """Remove a fault. Raises UnknownError, listing the existing names, if there is none."""
        self._faults.remove(name)

    async def clear(self) -> None:
        """Remove all faults and drop the events that they delay. Faults of the settings return at the next reset."""
        self._faults.remove_all()

    async def may_delay(self) -> bool:
        """Return whether any fault may delay a request, call or event."""
        return self._faults.delay

    async def delayed_count(self, actor: Line) -> int:
        """Return the number of operations of an actor (`product/identity`, or a solution) that faults are delaying."""
        return self._faults.delays.count(actor)

    async def count_started_delays(self) -> int:
        """Return the number of delays that faults have started so far, for `since` of the waits for one."""
        return self._faults.delays.started

    async def wait_for_delay(self, actor: Line | None = None, since: Number | None = None) -> str:
        """Wait until a fault begins to delay an operation of this actor, or of any actor. Returns the actor.

        since: an earlier result of `count_started_delays`; a delay that has started after it counts.
        """
        with self._faults.delays.watch(since) as begun:
            while True:
                _, held = await begun.get()
                if actor in (None, held):
                    return held

    async def wait_until_blocked(self, actor: Line, since: Number | None = None) -> str:
        """Wait until a fault delays an operation that this actor waits for while the clock stands still.

        A device waits for its own requests, a solution for every operation except those of devices. since: see
        `wait_for_delay`. Returns the fault's name.
        """
        with self._faults.delays.watch(since) as begun:
            while True:
                fault, held = await begun.get()
                if not self._clock.rate and not self._clock.driven and self._waits_for(actor, held):
                    return fault

    def _waits_for(self, actor: str, held: str) -> bool:
        if self._is_device(actor):
            return held in (actor, actor.partition("/")[0])
        return not self._is_device(held)

    def _is_device(self, actor: Line) -> bool:
        product, slash, _ = actor.partition("/")
        return bool(slash) and product in self._products

    def _info(self, row: FaultRow, *, warned: bool = True) -> FaultInfo:
        return FaultInfo(
            name=row.name,
            sentence=row.sentence,
            where=row.where,
            does=row.does,
            often=row.often,
            whom=row.whom,
            seen=row.seen,
            hits=row.hits,
            state=row.state,
            origin=row.origin,
            warnings=fault_warnings(self._platform, row) if warned else (),
        )
