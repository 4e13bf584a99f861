"""Record values at timestamps: POST /onep:v1/stack/record (document 1, Endpoints)."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from aiohttp import web

from labkit.device_api import emitted, forms
from labkit.device_api.authenticate import authenticate, authenticated_still
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import FORM, nothing, reply
from labkit.devices.devices import Devices
from labkit.devices.state import Datapoint
from labkit.http.error import HttpError

NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?")
FURTHEST_AHEAD = 60  # seconds

Group = list[tuple[str, Decimal, str]]  # timestamp as sent, as a number, value


async def record(exchange: Exchange, devices: Devices) -> web.StreamResponse:
    """Store the points of each alias: 204, or 409 with the first clash of each alias and nothing stored."""
    device = await authenticate(exchange, devices.registry)
    given = grouped(await exchange.form())
    now = exchange.context.clock.now()
    groups = {alias: absolute(group, now) for alias, group in given.items()}
    found = [(alias, first_clash(group)) for alias, group in groups.items()]
    clashes = [(alias, clash) for alias, clash in found if clash is not None]  # it may be 0
    if clashes:
        return reply(409, forms.encode(clashes), FORM)
    resources = exchange.product.settings.resources
    exchange.add_not_stored(
        (alias, f"{text}={value}")
        for alias, group in given.items()
        if alias not in resources
        for text, _, value in group
    )
    points = [
        point for alias, group in groups.items() for point in recorded_points(exchange, now, alias, group)
    ]
    await exchange.context.events.capacity(f"{device.product}/{device.identity}")
    authenticated_still(exchange)
    if points:
        stored, _ = await devices.state.store(device.product, device.identity, points, math.floor(now))
        emitted.stored(exchange, devices, device, stored, "record", now)
    return nothing(exchange.context.wire)


def grouped(pairs: list[tuple[str, str]]) -> dict[str, Group]:
    """The points of each alias; an alias named twice is one group. Raises HttpError 400."""
    if not pairs or pairs[0][0] != "alias":
        raise HttpError(400, "expected alias=<alias> first")
    groups: dict[str, Group] = {}
    group: Group = []
    for index, (name, value) in enumerate(pairs):
        if name != "alias":
            if not NUMBER.fullmatch(name):
                raise HttpError(400, "a timestamp is a number of Unix seconds")
            group.append((name, Decimal(name), value))
            continue
        if index + 1 == len(pairs) or pairs[index + 1][0] == "alias":
            raise HttpError(400, "expected <timestamp>=<value> after each alias")
        group = groups.setdefault(value, [])
    return groups


def absolute(group: Group, now: float) -> Group:
    """`group` with negative timestamps, which count back from `now`, made absolute."""
    return [
        (text, Decimal(now) + number if text.startswith("-") else number, value)
        for text, number, value in group
    ]


def first_clash(group: Group) -> int | None:
    """The first timestamp, in whole seconds, of the first pair that is less than a second apart."""
    seen: dict[int, list[tuple[int, Decimal]]] = {}  # by whole second: index and number
    for index, (_, number, _) in enumerate(group):
        second = math.floor(number)
        near = [point for each in (second - 1, second, second + 1) for point in seen.get(each, ())]
        clashing = [earlier for earlier, other in near if abs(number - other) < 1]
        if clashing:
            return math.floor(group[min(clashing)][1])
        seen.setdefault(second, []).append((index, number))
    return None


def recorded_points(exchange: Exchange, now: float, alias: str, group: Group) -> list[Datapoint]:
    """The datapoints of a resource; of an alias that is none, nothing. Raises HttpError 400."""
    points = []
    for _, moment, value in group:
        if moment > now + FURTHEST_AHEAD:
            raise HttpError(400, f"a timestamp is at most {FURTHEST_AHEAD} seconds ahead of the server")
        if moment < 0:
            raise HttpError(400, "a timestamp is not before 1970")
        points.append(Datapoint(alias, math.floor(moment), value))
    if alias not in exchange.product.settings.resources:
        return []
    for point in points:
        if wrong := exchange.product.value_error(alias, point.value):
            raise HttpError(400, wrong)
    return points
