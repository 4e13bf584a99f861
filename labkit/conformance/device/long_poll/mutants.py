"""Faults of long polling."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.core.activity import Activity
from labkit.core.holding import Holding
from labkit.device_api.exchange import Exchange
from labkit.devices.devices import Devices
from labkit.devices.polls import Poll, Polls
from labkit.devices.registry import Device
from labkit.devices.state import Datapoint, Key, State, Stored, Waiting

DUE = "labkit.devices.state:State.due"
WAKE = "labkit.devices.polls:Polls.wake"

Found = tuple[list[Stored | None], int | None]


@mutant("DEV-POLL-1 DEV-POLL-17", "labkit.devices.polls:Polls.wait")
def never_held(original: Any) -> Any:
    """a poll is answered at once"""

    async def broken(self: Polls, poll: Poll, until: float) -> Stored | None:
        return poll.future.result() if poll.future.done() else None

    return broken


@mutant("DEV-POLL-3", WAKE)
def woken_by_other_alias(original: Any) -> Any:
    """a write of any alias answers a device's polls"""
    return _woken(original, (0, 1))


@mutant("DEV-POLL-3", WAKE)
def woken_by_other_device(original: Any) -> Any:
    """a write by any device answers the polls of its product"""
    return _woken(original, (0, 2))


@mutant("DEV-POLL-3", WAKE)
def woken_by_other_product(original: Any) -> Any:
    """a write answers polls of the same identity and alias under every product"""
    return _woken(original, (1, 2))


@mutant("DEV-POLL-8 DEV-POLL-11", DUE)
def newest(original: Any) -> Any:
    """of several datapoints the newest answers"""

    async def broken(self: State, key: Key, polls: Sequence[Waiting], now: int) -> Found:
        found, ahead = await original(self, key, polls, now)
        for index, each in enumerate(found):
            while each is not None:
                found[index] = each
                [each], _ = await original(self, key, [Waiting(each.point.timestamp, False)], now)
        return found, ahead

    return broken


@mutant("DEV-POLL-11", "labkit.device_api.emitted:stored")
def in_the_order_of_the_body(original: Any) -> Any:
    """of several points that one request records the one that is named first answers a waiting poll"""

    def broken(
        exchange: Exchange, devices: Devices, device: Device, stored: Any, api: str, received: float
    ) -> None:
        for each in stored:
            devices.polls.wake(device.product, device.identity, [each], api == "write")
        original(exchange, devices, device, stored, api, received)

    return broken


@mutant("DEV-POLL-19", "labkit.device_api.emitted:stored")
def not_by_hybrid(original: Any) -> Any:
    """a hybrid write wakes no poll"""

    def broken(
        exchange: Exchange, devices: Devices, device: Device, stored: Any, api: str, received: float
    ) -> None:
        if exchange.query():  # nobody waits
            devices, activity = copy(devices), Activity()
            devices.polls = Polls(exchange.context.clock, activity, Holding(activity), devices.state)
        original(exchange, devices, device, stored, api, received)

    return broken


@mutant("DEV-POLL-19", WAKE)
def not_by_record(original: Any) -> Any:
    """a recorded point wakes no poll"""

    def broken(self: Polls, product: str, identity: str, stored: Sequence[Stored], written: bool) -> None:
        if written:
            original(self, product, identity, stored, written)

    return broken


@mutant("DEV-POLL-19", WAKE)
def by_any_record(original: Any) -> Any:
    """a recorded point wakes every poll from now on, however old it is"""
    return lambda self, product, identity, stored, written: original(self, product, identity, stored, True)


@mutant("DEV-POLL-20", DUE)
def given_once(original: Any) -> Any:
    """what was asked for once does not come again"""
    requested: set[tuple[Key, int]] = set()

    async def broken(self: State, key: Key, polls: Sequence[Waiting], now: int) -> Found:
        found, ahead = await original(self, key, polls, now)
        for index, poll in enumerate(polls):
            if (key, poll.since) in requested:
                found[index] = None
            requested.add((key, poll.since))
        return found, ahead

    return broken


def _woken(original: Any, compared: tuple[int, int]) -> Any:
    """Wakes polls whose keys are equal in the parts compared: 0 product, 1 identity, 2 alias."""

    def broken(self: Polls, product: str, identity: str, stored: Sequence[Stored], written: bool) -> None:
        for each in stored:
            point = each.point
            from_key: Key = (product, identity, point.alias)
            for key in self.keys():
                if all(key[part] == from_key[part] for part in compared):
                    renamed = Stored(Datapoint(key[2], point.timestamp, point.value), each.number)
                    original(self, *key[:2], [renamed], written)

    return broken
