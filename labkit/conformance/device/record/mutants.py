"""Faults of record."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.device_api.record import SECOND, Group
from labkit.devices.state import State, Waiting

CLASH = "labkit.device_api.record:first_clash"
POINTS = "labkit.device_api.record:recorded_points"


@mutant("DEV-REC-2 DEV-REC-3 DEV-REC-10 DEV-REC-11", POINTS)
def time_of_receipt(original: Any) -> Any:
    """values are stored under the time of receipt"""
    return lambda exchange, now, alias, group: [
        each._replace(timestamp=now // SECOND) for each in original(exchange, now, alias, group)
    ]


@mutant("DEV-REC-4", CLASH)
def neighbours_only(original: Any) -> Any:
    """only points that follow each other in the body are a conflict"""

    def broken(group: Group) -> int | None:
        pairs = pairwise(group)
        return next((a // SECOND for (_, a, _), (_, b, _) in pairs if abs(a - b) < SECOND), None)

    return broken


@mutant("DEV-REC-4", CLASH)
def a_second_is_too_close(original: Any) -> Any:
    """points one second apart are a conflict"""

    def broken(group: Group) -> int | None:
        return next(
            (
                a // SECOND
                for index, (_, a, _) in enumerate(group)
                for _, b, _ in group[index + 1 :]
                if abs(a - b) <= SECOND
            ),
            None,
        )

    return broken


@mutant("DEV-REC-4", CLASH)
def equal_only(original: Any) -> Any:
    """only equal timestamps are a conflict"""

    def broken(group: Group) -> int | None:
        times = [at for _, at, _ in group]
        return next((at // SECOND for at in times if times.count(at) > 1), None)

    return broken


@mutant("DEV-REC-7", CLASH)
def lowest_listed(original: Any) -> Any:
    """a 409 lists the lowest timestamp of an alias"""
    return lambda group: min(point[1] // SECOND for point in group) if original(group) else None


@mutant("DEV-REC-12", POINTS)
def no_future(original: Any) -> Any:
    """a timestamp may not lie ahead"""
    return lambda exchange, now, alias, group: original(exchange, now - 60 * SECOND, alias, group)


@mutant("DEV-REC-15", "labkit.devices.state:State.store")
def last_recorded_is_read(original: Any) -> Any:
    """the point recorded last is read, also where it is older"""
    newest: dict[tuple[str, str, str], int] = {}

    async def broken(
        self: State, product: str, identity: str, points: Any, received: int, read: Any = ()
    ) -> Any:
        stored = []
        for point in points:
            key = (product, identity, point.alias)
            newest[key] = max(point.timestamp, newest.get(key, 0) + 1)
            stored.append(point._replace(timestamp=newest[key]))
        return await original(self, product, identity, stored, received, read)

    return broken


@mutant("DEV-REC-16", "labkit.devices.state:State.latest")
def latest_timestamp(original: Any) -> Any:
    """the value that is read is the one with the latest timestamp"""

    async def broken(self: State, product: str, identity: str, aliases: Any) -> list[tuple[str, str]]:
        found = []
        for alias in aliases:
            key, since, value = (product, identity, alias), -1, None
            while (each := (await self.due(key, [Waiting(since, False)], 2**40))[0][0]) is not None:
                since, value = each.point.timestamp, each.point.value
            found += [(alias, value)] if value is not None else []
        return found

    return broken


@mutant("DEV-REC-16", "labkit.devices.state:State.store")
def ahead_waits(original: Any) -> Any:
    """a point recorded ahead is not read before its time"""

    async def broken(
        self: State, product: str, identity: str, points: Any, received: int, read: Any = ()
    ) -> Any:
        present = [point for point in points if point.timestamp <= received]
        return await original(self, product, identity, present, received, read)

    return broken
