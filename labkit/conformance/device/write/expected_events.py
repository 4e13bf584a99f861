"""Expected events of a game's devices: a data_in for each accepted request, and a datapoint for each point.

They are compared in the order of the requests, with exact times, and with the solutions that receive them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from labkit.conformance.device.write.model import RESOURCES, Group, Pairs
from labkit.conformance.models.rules import Rules
from labkit.conformance.probe import PROBE, WITNESS, events_of
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.fleet.device import VirtualDevice

WITNESSED = "token-other"  # the product that both the probe and the witness are linked to
KEPT = 86_400  # seconds for which the probe and the witness keep a device's events, from its last event on
Point = tuple[str, int, str]  # alias, second, value
Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """An accepted request. micros: its time; api: write or record."""

    api: str
    micros: int
    points: tuple[Point, ...]

    @property
    def rule(self) -> str:
        """The rule that its data_in belongs to."""
        if self.api == "record":
            return "DEV-EVT-7"
        return "DEV-EVT-2" if self.points else "DEV-ALIAS-9"

    def payload(self) -> list[list[Any]]:
        """Return the entries of its data_in: timestamps and values."""
        if self.api == "write":
            return [[self.micros, {alias: value for alias, _, value in self.points}]]
        entries: dict[int, dict[str, str]] = {}
        for alias, second, value in sorted(self.points, key=lambda each: each[1]):
            entries.setdefault(second * 1_000_000, {})[alias] = value
        return [[stamp, values] for stamp, values in entries.items()]

    def data_in(self) -> str:
        """Return its data_in as JSON text, for comparison."""
        return json.dumps([self.micros, self.payload()], sort_keys=True)

    def datapoints(self) -> list[list[Any]]:
        """Return its datapoints, sorted, since the events of one request have no fixed order."""
        return sorted([alias, second, value, self.api, self.micros] for alias, second, value in self.points)


@dataclass(slots=True)
class ExpectedEvents:
    """The accepted requests of a game's devices, in order, from which their events follow.

    lost: it is unknown which requests were accepted; restarted: whether the platform has restarted. Used only where
    the clock is exact, since otherwise the second of a value is unknown.
    """

    lost: bool = False
    restarted: bool = False
    _requests: dict[int, list[Request]] = field(default_factory=dict)

    def wrote(self, index: int, pairs: Pairs, now: Fraction) -> None:
        """Add an accepted write of the device with this number."""
        second = int(now)
        points = [(alias, second, value) for alias, value in dict(pairs).items() if alias in RESOURCES]
        self._note(index, "write", now, points)

    def recorded(self, index: int, groups: Sequence[Group], now: Fraction) -> None:
        """Add an accepted record of this device."""
        points = [
            (alias, int(Fraction(stamp) + (now if stamp.startswith("-") else 0)), value)
            for alias, pairs in groups
            for stamp, value in pairs
            if alias in RESOURCES
        ]
        if points:
            self._note(index, "record", now, points)

    def _note(self, index: int, api: str, now: Fraction, points: Sequence[Point]) -> None:
        request = Request(api, int(now * 1_000_000), tuple(points))
        self._requests.setdefault(index, []).append(request)

    async def compare(
        self, target: Target, rules: Rules, devices: Sequence[tuple[str, VirtualDevice]]
    ) -> None:
        """Compare with the events that the probe and the witness received. devices: with their products."""
        rids: dict[object, tuple[str, str, str]] = {}
        for identity in dict.fromkeys(device.identity for _, device in devices):
            own = [n for n, (_, device) in enumerate(devices) if device.identity == identity]
            for solution in (PROBE, WITNESS):
                numbers = [n for n in own if solution == PROBE or devices[n][0] == WITNESSED]
                if self.lost:
                    return
                events = await self._events(target, rules, identity, numbers, solution)
                self._compare_data_in(rules, numbers, events)
                for number in numbers:
                    self._compare_datapoints(rules, number, devices[number][0], events, rids)

    async def _events(
        self, target: Target, rules: Rules, identity: str, numbers: Sequence[int], solution: str
    ) -> list[Table]:
        requests = [each for number in numbers for each in self._requests.get(number, ())]
        activated = len(numbers)
        count = activated + sum(1 + len(each.points) for each in requests)
        rule = "DEV-EVT-1" if solution == PROBE else "DEV-EVT-3"
        try:
            found = await events_of(target, identity, count, solution)
        except Mismatch as mismatch:
            rules.holds(rule, mismatch.what, mismatch.actual, mismatch.expected)
            self.lost = True
            return []
        if not rules.holds(rule, f"how many events of {identity} the {solution} has", len(found), count):
            self.lost = True
        return found

    def _compare_data_in(self, rules: Rules, numbers: Sequence[int], events: Sequence[Table]) -> None:
        """Compare the data_in events; not their order, if another product has a device of the same name."""
        found = [each["event"] for each in events if each["event"].get("type") == "data_in"]
        requests = [each for number in numbers for each in self._requests.get(number, ())]
        if len(numbers) > 1:
            requests.sort(key=Request.data_in)
            found.sort(key=_shown)
        for wanted, each in zip(requests, found, strict=False):
            if not rules.holds(wanted.rule, "a data_in", _near(_shown(each), wanted), wanted.data_in()):
                self.lost = True

    def _compare_datapoints(
        self,
        rules: Rules,
        number: int,
        product: str,
        events: Sequence[Table],
        rids: dict[object, tuple[str, str, str]],
    ) -> None:
        found = [each["event"] for each in events if each["event"].get("vendor") == product]
        requests = [each for each in self._requests.get(number, ()) if each.points]
        counted: dict[str, int] = {}
        for wanted in requests:
            several, found = found[: len(wanted.points)], found[len(wanted.points) :]
            received = sorted(_point(each, wanted.micros) for each in several)
            rule = "DEV-EVT-7" if wanted.api == "record" else "DEV-EVT-4"
            if wanted.api == "write" and len(wanted.points) > 1:
                aliases = [each[0] for each in received], [each[0] for each in wanted.datapoints()]
                if not rules.holds("DEV-EVT-5", f"aliases of the datapoints of {product}", *aliases):
                    self.lost = True
                    return
            if not rules.holds(rule, f"datapoints of {product}", received, wanted.datapoints()):
                self.lost = True
                return
            for each in several:
                last, counted[each["alias"]] = counted.get(each["alias"], 0), each["seq"]
                goes_on = each["seq"] > last if self.restarted else each["seq"] == last + 1
                rules.holds("DEV-EVT-6", "does seq count the datapoints of an alias?", goes_on, True)
                whose = (product, each["device_sn"], each["alias"])
                held = rids.setdefault(each["rid"], whose)
                rules.holds("DEV-EVT-6", f"whose the rid {each['rid']} is", whose, held)


def _shown(event: Table) -> str:
    entries = [[each["timestamp"], each["values"]] for each in event["payload"]]
    return json.dumps([event["timestamp"], entries], sort_keys=True)


def _near(text: str, wanted: Request) -> str:
    """Return a data_in's text, with the expected time where it differs by a microsecond, the precision of floats."""
    for beside in (wanted.micros - 1, wanted.micros + 1):
        text = text.replace(str(beside), str(wanted.micros))
    return text


def _point(event: Table, micros: int) -> list[Any]:
    stamp = event["timestamp"]
    near = micros if isinstance(stamp, int) and abs(stamp - micros) <= 1 else stamp
    return [event["alias"], *event["value"], event["api"], near]
