"""Long polls against a model of them: random writes, records and polls of two devices by two pollers each.

The model is written from the rule alone (requirements DEV-POLL): it keeps a datapoint a second, and asks after each
event and at each second which polls are answered.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.device_api.rig import ALIAS, PATIENCE, RECORD, Client, DeviceRig
from tests.device_api.rig import device_rig as lab
from tests.sizes import size

Answer = tuple[int, str]  # the datapoint's second and value

DEVICE = st.sampled_from([0, 0, 1])  # most of it happens to one of them
POLLER = st.integers(0, 1)
SINCE = st.sampled_from(["none", "last", "plus one", "now", "before", "ahead", "beginning"])
STEP = {
    "write": st.tuples(st.just("store"), DEVICE, st.none()),
    "record": st.tuples(
        st.just("store"), DEVICE, st.lists(st.integers(-1, 3), min_size=1, max_size=2, unique=True)
    ),
    "poll": st.tuples(st.just("poll"), DEVICE, POLLER, SINCE, st.sampled_from([0, 700, 30_000, 30_000])),
    "leave": st.tuples(st.just("leave"), DEVICE, POLLER),
    "advance": st.tuples(st.just("advance"), st.sampled_from([0.25, 0.5, 1.0, 2.25])),
}
OFTEN = ["poll"] * 4 + ["record"] * 3 + ["write"] * 2 + ["advance"] * 3 + ["leave"]
STEPS = st.lists(st.sampled_from(OFTEN).flatmap(STEP.__getitem__), min_size=30, max_size=60)


@dataclass
class Wait:
    """A poll of the model. since: None where the request named no time."""

    since: int | None
    arrived: int
    ends: float
    answer: Answer | None = None
    over: bool = False


@dataclass
class Model:
    """One resource of one device."""

    points: dict[int, tuple[str, bool]] = field(default_factory=dict)  # second → value, given to a poll
    waiting: list[Wait] = field(default_factory=list)

    def store(self, second: int, value: str) -> None:
        self.points[second] = (value, False)

    def answer(self, now: float, written: int | None = None) -> None:
        """Answer whoever can be answered. written: the second of a write that has just come."""
        given = set()
        for wait in self.waiting:
            if wait.over:
                continue
            since = wait.arrived if wait.since is None else wait.since
            due = [
                second
                for second, (_, was_given) in sorted(self.points.items())
                if second <= now
                and (
                    second > since
                    or (second == since and wait.since is not None and not was_given)
                    or (second == written and wait.since is None)
                )
            ]
            if due:
                wait.over, wait.answer = True, (due[0], self.points[due[0]][0])
                given.add(due[0])
        for second in given:
            self.points[second] = (self.points[second][0], True)

    def pass_to(self, start: float, end: float) -> None:
        """Let time go by: polls end, and what was recorded ahead comes."""
        moments = {wait.ends for wait in self.waiting} | set(
            range(math.floor(start) + 1, math.floor(end) + 1)
        )
        for moment in sorted(each for each in moments if start < each <= end):
            self.expire(moment)
            self.answer(moment)

    def expire(self, now: float) -> None:
        for wait in self.waiting:
            wait.over = wait.over or wait.ends <= now


@dataclass
class Device:
    """A device with its pollers; each has at most one poll, and the time that its last answer named."""

    writer: Client
    pollers: list[Client]
    model: Model = field(default_factory=Model)
    waits: list[Wait | None] = field(default_factory=lambda: [None, None])
    last: list[int] = field(default_factory=lambda: [0, 0])
    writes: int = 0

    def value(self) -> str:
        self.writes += 1
        return f"v{self.writes}"


async def connected(rig: DeviceRig, number: int) -> Device:
    writer = await rig.device(identity=f"d{number}")
    pollers = [await rig.connect() for _ in range(2)]
    for poller in pollers:
        poller.credentials = writer.credentials
    return Device(writer, pollers)


async def collect(rig: DeviceRig, devices: list[Device]) -> None:
    """The answers that the model says are there by now, and no others."""
    await rig.idle()
    for device in devices:
        for index, wait in enumerate(device.waits):
            if wait is None or not wait.over:
                continue
            response = await device.pollers[index].answer()
            found = None
            if response.status == 200:
                [(alias, value)] = response.pairs
                assert alias == "text"
                found = (int(response.header("Last-Modified") or ""), value)
                device.last[index] = found[0]
            assert (response.status, found) == (304 if wait.answer is None else 200, wait.answer)
            device.waits[index] = None
            device.model.waiting.remove(wait)
    await counted(rig, sum(wait is not None for device in devices for wait in device.waits))


async def counted(rig: DeviceRig, polls: int) -> None:
    """Return once so many polls are held; what a client does reaches the lab in its own time."""
    async with asyncio.timeout(PATIENCE):
        while len(rig.platform.devices.polls) != polls:  # noqa: ASYNC110
            await asyncio.sleep(0)


async def begin(rig: DeviceRig, device: Device, index: int, kind: str, timeout: int) -> None:
    """Send a poll; returns once it is held or answered."""
    now = rig.platform.context.clock.now()
    second = math.floor(now)
    since = {
        "none": None,
        "last": device.last[index],
        "plus one": device.last[index] + 1,
        "now": second,
        "before": second - 2,
        "ahead": second + 2,
        "beginning": 0,
    }[kind]
    headers = [("Request-Timeout", str(timeout))]
    if since is not None:
        headers.append(("If-Modified-Since", str(since)))
    before = len(rig.platform.devices.polls)
    device.pollers[index].send("GET", f"{ALIAS}?text", headers=headers)
    wait = Wait(since, second, now + timeout / 1000)
    device.waits[index] = wait
    device.model.waiting.append(wait)
    device.model.answer(now)
    device.model.expire(now)
    if not wait.over:
        await counted(rig, before + 1)


async def leave(rig: DeviceRig, device: Device, index: int) -> None:
    """Break off a poll, if there is one."""
    wait = device.waits[index]
    if wait is not None:
        device.pollers[index].leave()
        device.model.waiting.remove(wait)
        device.waits[index] = None
        device.pollers[index] = await rig.connect()
        device.pollers[index].credentials = device.writer.credentials


async def store(device: Device, now: float, offsets: list[int] | None) -> None:
    """Write a value, or record one at each of some seconds from now."""
    second = math.floor(now)
    if offsets is None:
        value = device.value()
        assert (await device.writer.ask("POST", ALIAS, f"text={value}&number=1")).status == 204
        device.model.store(second, value)
        device.model.answer(now, second)
        return
    pairs = "alias=text"
    for offset in offsets:
        value = device.value()
        pairs += f"&{second + offset}={value}"
        device.model.store(second + offset, value)
    assert (await device.writer.ask("POST", RECORD, pairs)).status == 204
    device.model.answer(now)


@settings(max_examples=size(100, 1000))
@given(STEPS)
async def test_polls_against_a_model(steps: list[tuple[Any, ...]]) -> None:
    async with lab() as rig:
        clock = rig.platform.context.clock
        devices = [await connected(rig, number) for number in range(2)]
        for kind, *how in steps:
            now = clock.now()
            if kind == "advance":
                await clock.advance(how[0])
                for device in devices:
                    device.model.pass_to(now, clock.now())
            elif kind == "store":
                await store(devices[how[0]], now, how[1])
            elif kind == "leave":
                await leave(rig, devices[how[0]], how[1])
            elif devices[how[0]].waits[how[1]] is None:
                await begin(rig, devices[how[0]], *how[1:])
            await collect(rig, devices)
