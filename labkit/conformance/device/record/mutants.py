"""Faults of record."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from labkit.conformance.breaking import change_arguments
from labkit.conformance.mutant import mutant, patch
from labkit.device_api.record import SECOND, Group
from labkit.devices.state import AnswerCondition

CLASH = "labkit.device_api.record:first_clash"
POINTS = "labkit.device_api.record:recorded_points"
STATE = "labkit.devices.state:State"

no_future = patch("DEV-REC-12", POINTS, "a timestamp may not lie ahead")(
    change_arguments(now=lambda now: now - 60 * SECOND)
)


@patch("DEV-REC-2 DEV-REC-3 DEV-REC-10 DEV-REC-11", POINTS)
def time_of_receipt(original: Any, exchange: Any, now: int, alias: Any, group: Any) -> Any:
    """values are stored under the time of receipt"""
    return [each._replace(timestamp=now // SECOND) for each in original(exchange, now, alias, group)]


@patch("DEV-REC-4", CLASH)
def neighbours_only(original: Any, group: Group) -> Any:
    """only points that follow each other in the body are a conflict"""
    times = pairwise(at for _, at, _ in group)
    return next((a // SECOND for a, b in times if abs(a - b) < SECOND), None)


@patch("DEV-REC-4", CLASH)
def a_second_is_too_close(original: Any, group: Group) -> Any:
    """points one second apart are a conflict"""
    times = pairwise(sorted(at for _, at, _ in group))
    return next((a // SECOND for a, b in times if b - a <= SECOND), None)


@patch("DEV-REC-4", CLASH)
def nearly_a_second_is_enough(original: Any, group: Group) -> Any:
    """points a billionth of a second less than one second apart are no conflict"""
    times = pairwise(sorted(at for _, at, _ in group))
    return next((a // SECOND for a, b in times if b - a < SECOND - 1), None)


@patch("DEV-REC-4", CLASH)
def equal_only(original: Any, group: Group) -> Any:
    """only equal timestamps are a conflict"""
    times = [at for _, at, _ in group]
    return next((at // SECOND for at in times if times.count(at) > 1), None)


@patch("DEV-REC-7", CLASH)
def lowest_listed(original: Any, group: Group) -> Any:
    """a 409 lists the lowest timestamp of an alias"""
    return min(at // SECOND for _, at, _ in group) if original(group) else None


@mutant("DEV-REC-15", f"{STATE}.store")
def last_recorded_is_read(original: Any) -> Any:
    """the point recorded last is read, even if it is older"""
    newest: dict[tuple[str, str, str], int] = {}

    async def broken(self: Any, product: str, identity: str, points: Any, *rest: Any) -> Any:
        stored = []
        for point in points:
            key = (product, identity, point.alias)
            newest[key] = max(point.timestamp, newest.get(key, 0) + 1)
            stored.append(point._replace(timestamp=newest[key]))
        return await original(self, product, identity, stored, *rest)

    return broken


@patch("DEV-REC-16", f"{STATE}.latest")
async def latest_timestamp(original: Any, self: Any, product: str, identity: str, aliases: Any) -> Any:
    """the value that is read is the one with the latest timestamp"""
    found = []
    for alias in aliases:
        key, since, value = (product, identity, alias), -1, None
        while (each := (await self.due(key, [AnswerCondition(since, False)], 2**40))[0][0]) is not None:
            since, value = each.point.timestamp, each.point.value
        found += [(alias, value)] if value is not None else []
    return found


@patch("DEV-REC-16", f"{STATE}.store")
async def ahead_waits(
    original: Any, self: Any, product: str, identity: str, points: Any, received: int, *read: Any
) -> Any:
    """a point recorded ahead is not read before its time"""
    present = [point for point in points if point.timestamp <= received]
    return await original(self, product, identity, present, received, *read)
