"""What it takes to play the devices of a fleet, in any process, and what comes of each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from labkit.fleet.behaviour import Behaviour
from labkit.fleet.device import Credentials
from labkit.fleet.fleet_device import DeviceFaults
from labkit.fleet.flow import Address
from labkit.fleet.shapes import Shape


@dataclass(frozen=True, slots=True)
class Member:
    """A device of a fleet, before it lives. epoch: the first of the run, counted over the life of the fleet."""

    number: int
    identity: str
    behaviour: Behaviour
    credentials: Credentials
    epoch: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """All that it takes to play devices, in any process.

    every: seconds of lab time of a tick; requests: keep a row a request; devices: how many are online, all without it;
    arrivals: the rate of `FleetDevice.arrivals`; others: what devices that play elsewhere hold, by identity.
    """

    product: str
    address: Address
    domain: str
    auth: str
    seed: int
    members: Sequence[Member]
    every: float = 60.0
    requests: bool = False
    devices: Shape | None = None
    arrivals: Shape | None = None
    faults: DeviceFaults | None = None
    others: Mapping[str, Credentials] = field(default_factory=dict)


class Failure(NamedTuple):
    """A device that failed. time: lab time; seed: of the fleet, to repeat it alone; trace: where."""

    time: float
    identity: str
    number: int
    epoch: int
    error: str
    seed: int
    trace: str


class Row(NamedTuple):
    """A request. time: lab time of the answer; status: None where none came; latency: seconds of lab time."""

    time: float
    identity: str
    action: str
    status: int | None
    latency: float
    error: str | None
