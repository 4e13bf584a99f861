"""Recording of values at timestamps: POST /onep:v1/stack/record (document 1, Endpoints)."""

from __future__ import annotations

import asyncio
import math
import re
from decimal import Decimal
from itertools import pairwise

from labkit.device_api import emitted, forms
from labkit.device_api.authenticate import authenticate, require_still_authenticated
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import FORM, nothing, reply
from labkit.devices.devices import Devices
from labkit.devices.state import Datapoint
from labkit.http.error import HttpError
from labkit.http.reply import Answer

DIGITS = 12  # of the whole seconds of a timestamp
NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?")
SECOND = 1_000_000_000  # nanoseconds
MANY = 1000  # points
FURTHEST_AHEAD = 60  # seconds

Group = list[tuple[str, int, str]]  # timestamp as sent, in nanoseconds, value


async def record(exchange: Exchange, devices: Devices) -> Answer:
    """Store the points of each alias: 204, or 409 with the first clash of each alias and nothing stored."""
    device = await authenticate(exchange, devices.registry)
    given = grouped(await exchange.form())
    now = exchange.context.clock.now()
    moment = math.floor(Decimal(now) * SECOND)
    groups = {alias: absolute(group, moment) for alias, group in given.items()}
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
        point for alias, group in groups.items() for point in recorded_points(exchange, moment, alias, group)
    ]
    if len(points) > MANY:
        await asyncio.sleep(0)  # to check and store all of them would block the loop for too long
    await exchange.context.events.wait_for_capacity(f"{device.product}/{device.identity}")
    require_still_authenticated(exchange)
    others: list[Datapoint] = []
    if exchange.context.wire.unknown_aliases:
        unknown = ((alias, group) for alias, group in groups.items() if alias not in resources)
        others = [
            Datapoint(alias, moment // SECOND, text) for alias, group in unknown for _, moment, text in group
        ]
    if points or others:
        stored, first, _ = await devices.state.store(device.product, device.identity, points, math.floor(now))
        emitted.stored(exchange, devices, device, stored, first, "record", now, others)
    return nothing(exchange.context.wire)


def grouped(pairs: list[tuple[str, str]]) -> dict[str, Group]:
    """Group the points by alias; an alias named twice is one group. Raises HttpError 400."""
    if not pairs or pairs[0][0] != "alias":
        raise HttpError(400, "expected alias=<alias> first")
    groups: dict[str, Group] = {}
    group: Group = []
    for index, (name, value) in enumerate(pairs):
        if name != "alias":
            group.append((name, nanoseconds(name), value))
            continue
        if index + 1 == len(pairs) or pairs[index + 1][0] == "alias":
            raise HttpError(400, "expected <timestamp>=<value> after each alias")
        group = groups.setdefault(value, [])
    return groups


def nanoseconds(text: str) -> int:
    """Convert a number of seconds exactly to nanoseconds. Raises HttpError 400."""
    if len(text) <= DIGITS and text.isdecimal() and text.isascii():  # as nearly always
        return int(text) * SECOND
    if not NUMBER.fullmatch(text):
        raise HttpError(400, "a timestamp is a number of Unix seconds")
    whole, _, fraction = text.removeprefix("-").partition(".")
    number = int(whole) * SECOND + int(fraction.ljust(9, "0"))
    return -number if text.startswith("-") else number


def absolute(group: Group, now: int) -> Group:
    """Return `group` with negative timestamps, which count back from `now` (nanoseconds), made absolute."""
    if not any(text[0] == "-" for text, _, _ in group):
        return group
    return [(text, now + number if text[0] == "-" else number, value) for text, number, value in group]


def first_clash(group: Group) -> int | None:
    """Return the first timestamp of the first pair less than a second apart, in whole seconds; None without a clash."""
    numbers = [number for _, number, _ in group]
    ordered = sorted(numbers)
    if all(later - earlier >= SECOND for earlier, later in pairwise(ordered)):
        return None
    seen: dict[int, list[int]] = {}  # by whole second: indexes
    for index, number in enumerate(numbers):
        second = number // SECOND
        near = [other for each in (second - 1, second, second + 1) for other in seen.get(each, ())]
        clashing = [earlier for earlier in near if abs(number - numbers[earlier]) < SECOND]
        if clashing:
            return numbers[min(clashing)] // SECOND
        seen.setdefault(second, []).append(index)
    raise AssertionError("two neighbours are less than a second apart")


def recorded_points(exchange: Exchange, now: int, alias: str, group: Group) -> list[Datapoint]:
    """Return the datapoints of a group; none for an unknown alias. Raises HttpError 400."""
    latest = now + FURTHEST_AHEAD * SECOND
    for _, moment, _ in group:
        if not 0 <= moment <= latest:
            raise HttpError(
                400,
                "a timestamp is not before 1970"
                if moment < 0
                else f"a timestamp is at most {FURTHEST_AHEAD} seconds ahead of the server",
            )
    if alias not in exchange.product.settings.resources:
        return []
    if not exchange.product.accepts_all(alias):
        for _, _, value in group:
            if wrong := exchange.product.value_error(alias, value):
                raise HttpError(400, wrong)
    return [Datapoint(alias, moment // SECOND, value) for _, moment, value in group]
