"""Checks of the arguments of a fault of devices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypedDict

from labkit.core.errors import ArgumentError, LabError, TakenError, UnknownError, unknown
from labkit.fleet.fault_kinds import (
    KINDS,
    Devices,
    Span,
    check_time,
    check_whom,
    checked_actions,
    checked_after,
    checked_devices,
    checked_seconds,
)
from labkit.fleet.run_faults import DeviceFault

MOST = 1000  # faults of one fleet, and of all fleets


class _Keywords(TypedDict, total=False):
    every: int | None
    chance: float | None
    first: int | None
    seconds: Span | None
    devices: Devices | None
    share: float | None
    actions: str | Iterable[str] | None


class DeviceFaultKeywords(_Keywords, total=False):
    """The arguments of `FleetFaults.add` except `does` and `name`. None: not given."""

    after: Span | None


class SharedFaultKeywords(_Keywords, total=False):
    """The arguments of `LabDeviceFaults.add` except `does`, `name` and `products`. None: not given."""

    after: float | None


def fault_name(name: str | None, faults: Collection[str], handle: str, free: str) -> str:
    """Return the name of a new fault. Raises TakenError for one that is there, LabError if there are too many.

    faults: names of those that are there; handle: as cells write it; free: what a name begins with that is not given.
    """
    if name and name in faults:
        raise TakenError(f"fault {name!r} is there already; remove it first: {handle}.remove({name!r})")
    if len(faults) >= MOST:
        raise LabError(f"expected at most {MOST} faults; remove some: {handle}.clear()")
    number = len(faults) + 1
    while f"{free} {number}" in faults:
        number += 1
    return name or f"{free} {number}"


def device_fault(
    does: str,
    name: str,
    given: DeviceFaultKeywords | SharedFaultKeywords,
    identities: Mapping[int, str] | None,
) -> DeviceFault:
    """Return a fault. Raises LabError naming the wrong argument, and what was expected.

    given: as of `FleetFaults.add`; identities: of the fleet's devices, by number; None if they are not known.
    """
    known = DeviceFaultKeywords.__annotations__
    for each in given:
        if each not in known:
            raise ArgumentError(f"add: {unknown('argument', each, ('does', 'name', *known))}")
    kind = KINDS.get(does)
    if kind is None:
        raise UnknownError(unknown("fault of a device", does, KINDS))
    every, chance, first = given.get("every"), given.get("chance"), given.get("first")
    after, devices, share = given.get("after"), given.get("devices"), given.get("share")
    actions = given.get("actions")
    for each, value in (("every", every), ("first", first)):
        if value is not None and (type(value) is not int or value < 1):
            raise LabError(f"{each}: expected a number of requests, not {value!r}")
    for each, of in (("chance", chance), ("share", share)):
        if of is not None and not (type(of) in (int, float) and 0 < of <= 1):
            raise LabError(f"{each}: expected a number above 0, up to 1, not {of!r}")
    check_time(does, after, every=every, chance=chance, first=first, actions=actions)
    check_whom(does, devices=devices, share=share)
    if every is not None and chance is not None:
        raise LabError("every cannot go with chance")
    if kind.once and every is None and chance is None and first is None:
        first = 1
    return DeviceFault(
        name,
        does,
        checked_seconds(kind, does, given.get("seconds")),
        first,
        every,
        chance,
        checked_devices(devices, identities),
        checked_actions(kind, actions),
        checked_after(does, after),
        share,
    )
