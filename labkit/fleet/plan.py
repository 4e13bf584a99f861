"""Plain data that a process needs to run devices of a fleet, and the failures and requests that it reports."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from labkit.core.code_lines import defined_at, raised_at
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.device import Credentials
from labkit.fleet.ending import error_text
from labkit.fleet.flow import LabAddress
from labkit.fleet.kept_device import KeptDevice
from labkit.fleet.shapes import Shape
from labkit.labtime.device_scheduler import Failure

if TYPE_CHECKING:
    from labkit.fleet.fleet_device import FleetDevice
    from labkit.fleet.local_run import LocalFleetRun
    from labkit.labtime.clock import Timer

TRACE = 12  # lines of a failure's traceback that are kept
OVER = ("ended", "failed")  # states in which a device has finished
FaultKey = tuple[str, int]  # name of a fault of the devices, number of a device


@dataclass(frozen=True, slots=True)
class Member:
    """Device of a fleet before it starts.

    epoch: the first in the run, counted over the life of the fleet; state: `ended` or `failed` for a device that must
    not start, because it finished on another worker; kept: from an earlier run, if the device goes on.
    """

    number: int
    identity: str
    behaviour: Behaviour
    credentials: Credentials
    epoch: int = 1
    state: str = "waiting"
    kept: KeptDevice | None = None

    @property
    def over(self) -> bool:
        """Whether the device has finished."""
        return self.state in OVER


class Restart(NamedTuple):
    """Restart of the platform during a run.

    name: of the fault; after: lab seconds from the beginning of the run; seconds: duration for which it refuses
    connections.
    """

    name: str
    after: float
    seconds: float


class Loss(NamedTuple):
    """Loss of the credentials of some devices by the platform, during a run.

    name: of the fault; after: lab seconds from the beginning of the run; members: the devices.
    """

    name: str
    after: float
    members: Sequence[Member]


class DeviceFaults(Protocol):
    """Faults that a run injects at its devices; its caller performs restarts of the platform and losses of credentials.

    A hook may sleep on the device's clock, and raise the errors of a request.
    """

    @property
    def restarts(self) -> Sequence[Restart]: ...
    def beginnings(self, members: Sequence[Member]) -> Sequence[tuple[float, str]]:
        """Return when each device fault begins, in lab seconds from the run's beginning, and its description."""
        ...

    def losses(self, members: Sequence[Member]) -> Sequence[Loss]:
        """Return the losses of credentials of these devices."""
        ...

    def is_over(self, name: str) -> bool:
        """Return whether a fault was removed during the run."""
        ...

    def restarted(self, fault: Restart) -> None:
        """Count a restart of the platform."""

    def lost(self, fault: Loss, member: Member) -> None:
        """Count a lost credential of a device."""

    def schedule(self, fleet_run: LocalFleetRun) -> list[Timer]:
        """Return the timers of the faults that hit devices of a run at moments."""

    async def started(self, device: FleetDevice) -> None:
        """Apply the faults that hit a device as it starts."""

    async def before(self, device: FleetDevice, action: str) -> None:
        """Apply faults before a request is sent."""

    async def after(self, device: FleetDevice, action: str) -> None:
        """Apply faults after an answer has arrived, before the device sees it."""

    async def woken(self, device: FleetDevice) -> None:
        """Apply faults after the device has slept."""

    def take(self) -> Mapping[FaultKey, tuple[int, int]]:
        """Return possible and actual hits since the last call, by fault and device: input of `put`."""

    def put(self, taken: Mapping[FaultKey, tuple[int, int]]) -> None:
        """Add counts that `take` returned in another process."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Plain data that a process needs to run devices.

    every: seconds of lab time between ticks; requests: whether to keep a row per request; devices: number of devices
    online (None: all); arrivals: the rate of `FleetDevice.arrivals`; transport: tls, or memory without TLS; others:
    credentials of devices on other workers, by identity;
    in_step: whether devices act at the same instants (`OverlapSettings`); anew: whether devices start anew, and
    keep nothing.
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
    transport: str = "tls"
    others: Mapping[str, Credentials] = field(default_factory=dict)
    in_step: bool | float = False
    anew: bool = True


def failure_of(
    device: FleetDevice, behaviour: Behaviour, error: BaseException, time: float, seed: int
) -> Failure:
    """Return the failure of a device whose behaviour raised an error. time: lab time; seed: of the fleet."""
    trace = "".join(traceback.format_exception(error)[-TRACE:])
    place = raised_at(behaviour.run, error)[0] or defined_at(behaviour.run)
    return Failure(time, device.identity, device.number, device.epoch, error_text(error), seed, trace, place)


class RequestRow(NamedTuple):
    """Record of a request. time: lab time of the answer; status: None without an answer; latency: lab seconds."""

    time: float
    identity: str
    action: str
    status: int | None
    latency: float
    error: str | None
