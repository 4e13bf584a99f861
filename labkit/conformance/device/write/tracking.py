"""Tracking of devices in the model of device values: the possible states of each, and its requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar, cast
from urllib.parse import parse_qsl

from labkit.conformance import device_client
from labkit.conformance.connection_pool import Exchange
from labkit.conformance.device.write.expected_events import ExpectedEvents
from labkit.conformance.device.write.lines import Line, Lines
from labkit.conformance.device.write.model import Device
from labkit.conformance.models.game import Game
from labkit.conformance.models.game_clock import GameClock
from labkit.conformance.models.rules import Rules
from labkit.conformance.target import Target
from labkit.fleet.device import FORM, VirtualDevice

T = TypeVar("T")

TOKEN = "X-Platform-CIK"
MAX_STATES = 8  # limit on the possible states of a device, where the second of an answer is uncertain
FORM_TYPE = "application/x-www-form-urlencoded; charset=utf-8"


@dataclass(slots=True)
class PendingPoll:
    """A pending poll: its device, alias, request and connection."""

    device: int
    alias: str
    task: asyncio.Task[Exchange]
    line: Line


class TrackedDevice:
    """A device at the target, and its possible states in the model: several while the answers are ambiguous."""

    def __init__(self, device: VirtualDevice) -> None:
        self.device = device
        self.states = [Device()]


class TrackedDevices(Game):
    """Devices with their possible states, one model each; every comparison discards the states that do not fit."""

    def __init__(self, target: Target, rules: Rules) -> None:
        super().__init__(target, rules)
        self.devices: list[TrackedDevice] = []
        self.clock = GameClock(target, self._second)
        self._polls: dict[int, PendingPoll] = {}
        self._lines = Lines(target)
        self._count = 0
        self._last: dict[tuple[int, str], str] = {}  # Last-Modified by device and alias
        self._expected = ExpectedEvents()
        self._began = Fraction(0)
        self._lost = False  # too many states are possible: the rest of the sequence compares nothing

    # ---- states

    def _fork(
        self, tracked: TrackedDevice, seconds: Sequence[Fraction], change: Callable[[Device, Fraction], T]
    ) -> list[tuple[Device, T]]:
        """Apply a change to each state, once for each second in which the target may have made it."""
        if len(tracked.states) * len(seconds) > MAX_STATES:
            self._lost, seconds = True, seconds[:1]
        if len(seconds) == 1:
            found = [(state, change(state, seconds[0])) for state in tracked.states]
        else:
            copies = [(state.copy(), now) for state in tracked.states for now in seconds]
            found = [(state, change(state, now)) for state, now in copies]
        tracked.states = [state for state, _ in found]
        self._lost = self._lost or len(found) > MAX_STATES
        return found

    def _filter_read(
        self, tracked: TrackedDevice, response: Exchange, aliases: Sequence[str], written: set[str]
    ) -> None:
        """Keep the states that agree with the values read; report the rule of each value that differs."""
        seen = parse_qsl(response.text, keep_blank_values=True) if response.status_code == 200 else []
        fitting = [state for state in tracked.states if state.read(aliases) == seen]
        holds = self._rules.holds
        state = (fitting or tracked.states)[0]
        wanted = state.read(aliases)
        hybrid = response.method == "POST"
        found = dict(seen)
        for alias in dict.fromkeys(aliases):
            held = state.current(alias)
            value = held[0] if held else None
            rule = self._rule_of(tracked, alias, value, found.get(alias), bool(held and held[1]), written)
            if not holds(rule, f"value of {alias}", found.get(alias), value, response):
                self._lost = True
        if not wanted and not hybrid:
            holds("DEV-READ-4", "status", response.status_code, 204, response)
        elif not wanted:
            holds("DEV-HYBRID-4", "status", response.status_code, 204, response)
        else:
            holds("DEV-HYBRID-1" if hybrid else "DEV-READ-1", "status", response.status_code, 200, response)
            holds("DEV-READ-5", "type", response.headers.get("content-type"), FORM_TYPE, response)
        if fitting:
            for other in self.devices:  # their values were not read
                theirs = {each: other.states[0].current(each) for each in aliases}
                if any(theirs[each] not in (None, state.current(each)) for each in aliases):
                    near = other.device.domain == tracked.device.domain
                    holds("DEV-AUTH-7" if near else "DEV-TLS-1", "values of others", True, True)
            holds(
                "DEV-READ-6", "order of the pairs", [each for each, _ in seen], [each for each, _ in wanted]
            )
            tracked.states = fitting
        elif not self._lost and not holds("DEV-READ-6", "pairs", seen, wanted, response):
            self._lost = True

    def _rule_of(
        self,
        tracked: TrackedDevice,
        alias: str,
        wanted: str | None,
        seen: str | None,
        recorded: bool,
        written: set[str],
    ) -> str:
        """Return the rule that demands this value of an alias."""
        if seen is not None and seen != wanted:
            for other in self.devices:
                held = other.states[0].current(alias)
                if other is not tracked and held and held[0] == seen:
                    same = other.device.domain == tracked.device.domain
                    return "DEV-AUTH-7" if same else "DEV-TLS-1"
        if alias in written:
            return "DEV-HYBRID-2"
        if recorded:
            return "DEV-REC-16"
        if wanted is not None and not wanted.isalnum():
            return "DEV-ALIAS-5"
        return "DEV-READ-2"

    # ---- requests

    async def _send(
        self,
        tracked: TrackedDevice,
        method: str,
        path: str,
        body: str = "",
        headers: dict[str, str] | None = None,
        client: Line | None = None,
    ) -> Exchange:
        given = {"Accept": FORM, **(headers or {})}
        if method == "POST":
            given["Content-Type"] = FORM
        asking = (client or tracked.device).request(
            method,
            path,
            content=body if method == "POST" else None,
            headers=given if client is None else {**given, TOKEN: str(tracked.device.token)},
            patience=None,
        )
        return cast("Exchange", await asking)  # both the pool and a line return one

    def _confirm(self, line: Line) -> None:
        """Record that the client of a connection has received the answers so far."""
        for state in (state for tracked in self.devices for state in tracked.states):
            state.confirm(line.number)

    async def _connection_ended(self, line: Line) -> None:
        """Record that a connection has ended; the next request opens another one."""
        for state in (state for tracked in self.devices for state in tracked.states):
            state.forget(line.number)
        self._lines.renew(line)
        # the target notices the end before it gets this request
        await self.devices[0].device.request("GET", "/timestamp", credentials=False)

    async def _second(self) -> int:
        return await device_client.now(self.devices[0].device)
