"""Plain data that a process needs to run devices of a fleet, and the failures and requests that it reports."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from labkit.core.code_lines import defined_at, raised_at
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.device import Credentials
from labkit.fleet.ending import error_text
from labkit.fleet.fleet_device import DevicePlan, FaultHooks, FleetDevice
from labkit.fleet.kept_device import KeptDevice
from labkit.fleet.shapes import Shape
from labkit.labtime.clock import Clock, Timer
from labkit.labtime.device_scheduler import Failure

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


class DeviceFaults(FaultHooks, Protocol):
    """Faults that a run injects; its caller performs restarts of the platform and losses of credentials."""

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

    def schedule(
        self, clock: Clock, members: Sequence[Member], begun: Mapping[int, FleetDevice]
    ) -> list[Timer]:
        """Return the timers of the faults that hit devices at moments of a run that begins.

        begun: its devices that have begun, by number.
        """
        ...

    def take(self) -> Mapping[FaultKey, tuple[int, int]]:
        """Return possible and actual hits since the last call, by fault and device: input of `put`."""

    def put(self, taken: Mapping[FaultKey, tuple[int, int]]) -> None:
        """Add counts that `take` returned in another process."""


@dataclass(frozen=True, slots=True)
class Plan(DevicePlan):
    """Plain data that a process needs to run devices.

    every: seconds of lab time between ticks; requests: whether to keep a row per request; devices: number of devices
    online (None: all); transport: tls, or memory without TLS; others: credentials of devices on other workers, by
    identity; anew: whether devices start anew, and keep nothing.
    """

    members: Sequence[Member]
    every: float = 60.0
    requests: bool = False
    devices: Shape | None = None
    faults: DeviceFaults | None = field(default=None, kw_only=True)
    transport: str = "tls"
    others: Mapping[str, Credentials] = field(default_factory=dict)
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
