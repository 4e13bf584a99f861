"""What it takes to play the devices of a fleet, in any process, and what comes of each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from labkit.fleet.behaviour import Behaviour
from labkit.fleet.device import Credentials
from labkit.fleet.flow import LabAddress
from labkit.fleet.shapes import Shape

if TYPE_CHECKING:
    from labkit.fleet.fleet_device import FleetDevice

OVER = ("ended", "failed")  # states in which a device has nothing more to do
FaultKey = tuple[str, int]  # name of a fault of the devices, number of a device


@dataclass(frozen=True, slots=True)
class Member:
    """A device of a fleet, before it lives. epoch: the first of the run, counted over the life of the fleet; state: it
    lives unless this is `ended` or `failed`, as it was elsewhere before.
    """

    number: int
    identity: str
    behaviour: Behaviour
    credentials: Credentials
    epoch: int = 1
    state: str = "waiting"

    @property
    def over(self) -> bool:
        return self.state in OVER


class Restart(Protocol):
    """A restart of the platform. after: the beginning of the run; seconds: for which it refuses connections."""

    @property
    def name(self) -> str: ...
    @property
    def after(self) -> float | None: ...
    @property
    def seconds(self) -> float: ...


class DeviceFaults(Protocol):
    """What can go wrong at a device, each of which may sleep on the device's own time, and raise as an exchange does;
    and restarts of the platform, which are up to who plays the run.
    """

    @property
    def restarts(self) -> Sequence[Restart]: ...
    @property
    def titles(self) -> Sequence[str]:
        """Each fault of devices in words."""
        ...

    def restarted(self, fault: Any) -> None:
        """The platform was restarted."""

    async def before(self, device: FleetDevice, action: str) -> None:
        """The device is about to send a request."""

    async def after(self, device: FleetDevice, action: str) -> None:
        """An answer has come, and the device has not looked at it."""

    async def woken(self, device: FleetDevice) -> None:
        """A sleep of the device is over."""

    def take(self) -> Mapping[FaultKey, tuple[int, int]]:
        """How often each could have hit each device, and did, since this was asked last; it travels to `put`."""

    def put(self, taken: Mapping[FaultKey, tuple[int, int]]) -> None:
        """Put in what was taken in another process."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that it takes to play devices, in any process.

    every: seconds of lab time of a tick; requests: keep a row a request; devices: how many are online, all without it;
    arrivals: the rate of `FleetDevice.arrivals`; others: what devices that play elsewhere hold, by identity.
    """

    product: str
    address: LabAddress
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
