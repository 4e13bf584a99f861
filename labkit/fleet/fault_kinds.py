"""Kinds of device faults, and checks of their arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.core.errors import LabError, UnknownError, unknown
from labkit.faults.patterns import Patterns
from labkit.fleet.channel import NoAnswerError

if TYPE_CHECKING:
    from labkit.fleet.fleet_device import FleetDevice

ACTIONS = (
    *("activate", "write", "read", "write and read", "record", "poll", "list", "info", "download"),
    "timestamp",
)
RESTART = "platform restart"
LONGEST = 366 * 86400.0  # seconds
Devices = str | int | Iterable[str | int]


async def _drop(device: FleetDevice, seconds: float) -> None:
    device.connection.abort()
    raise NoAnswerError("no answer", "the device lost its connection")


async def _delay(device: FleetDevice, seconds: float) -> None:
    await device.sleep(seconds)


async def _read_slowly(device: FleetDevice, seconds: float) -> None:
    await device.read_slowly(seconds)


async def _send_again(device: FleetDevice, seconds: float) -> None:
    await device.send_again()


async def _set_wrong(device: FleetDevice, seconds: float) -> None:
    device.clock_error += seconds


async def _reboot(device: FleetDevice, seconds: float) -> None:
    await device.reboot(seconds)


@dataclass(frozen=True)
class FaultKind:
    """A kind of fault of devices.

    meaning: description of the effect; apply: injects it at a device, None for a fault of the platform; before: whether
    it is injected before the request is sent rather than after the answer arrives; None: after it on a virtual clock,
    before it on a running one. seconds: default of the argument, None if the kind has none; negative: whether seconds
    may be negative; once: hits once unless a frequency is given; never: actions that it cannot hit.
    """

    meaning: str
    apply: Callable[[FleetDevice, float], Awaitable[None]] | None
    before: bool | None = True
    seconds: float | None = None
    negative: bool = False
    once: bool = False
    never: frozenset[str] = frozenset()


KINDS = {
    "drop before": FaultKind("the connection is lost before the platform gets the request", _drop),
    "drop after": FaultKind(
        "the connection is lost after the work: the device does not know the outcome of its request",
        _drop,
        before=False,
    ),
    "delay": FaultKind("the device waits for `seconds` of lab time before it sends", _delay, seconds=10.0),
    "slow reader": FaultKind(
        "the device takes `seconds` of lab time to read its answer; on a clock that runs, the connection is stuck "
        "for as long",
        _read_slowly,
        before=None,
        seconds=10.0,
    ),
    "duplicate send": FaultKind(
        "the request is sent once more and the second answer ignored: no figure of the run has it, the journal and "
        "the accounts have; never a poll or an activation",
        _send_again,
        before=False,
        never=frozenset({"poll", "activate"}),
    ),
    "wrong clock": FaultKind(
        "the device's own clock jumps by `seconds`, back where they are negative; without a frequency once",
        _set_wrong,
        seconds=60.0,
        negative=True,
        once=True,
    ),
    "reboot": FaultKind(
        "the device starts again instead of sending, after `seconds` of lab time", _reboot, seconds=0.0
    ),
    RESTART: FaultKind(
        "the platform loses its power `after` seconds of a run and refuses connections for `seconds`; what it was "
        "about is lost (`Platform.restart`)",
        None,
        seconds=0.0,
    ),
}


def check_restart(does: str, after: object, **of_devices: object) -> None:
    """Raise LabError if a platform restart has arguments of device faults, or a device fault has `after`."""
    if does == RESTART and after is None:
        raise LabError(
            "after: a platform restart needs its time, in seconds from the beginning of a run: "
            "add('platform restart', after=3600)"
        )
    if after is not None and does != RESTART:
        raise LabError(
            f"after: only a platform restart has it, not {does!r}; a device's fault has every= or chance="
        )
    for name, value in of_devices.items():
        if after is not None and value is not None:
            raise LabError(f"{name}: a platform restart is no matter of devices")


def checked_seconds(kind: FaultKind, does: str, seconds: object, name: str = "seconds") -> float:
    """Return the seconds of a fault, by default those of its kind. Raises LabError for invalid ones."""
    if kind.seconds is None:
        if seconds is not None:
            raise LabError(f"seconds: {does} takes none")
        return 0.0
    if seconds is None:
        return kind.seconds
    low = -LONGEST if kind.negative else 0.0
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not low <= seconds <= LONGEST:
        raise LabError(f"{name}: expected {low:g} to {LONGEST:g}, not {seconds!r}")
    return float(seconds)


def checked_devices(devices: Devices | None, identities: Mapping[int, str]) -> tuple[str | int, ...] | None:
    """Return the devices that a fault hits, None for all. Raises UnknownError for one that the fleet does not have."""
    if devices is None:
        return None
    several = (devices,) if isinstance(devices, str | int) else tuple(devices)
    for each in several:
        if isinstance(each, bool) or not isinstance(each, str | int):
            raise LabError(f"devices: expected identities such as 't-0*', or numbers, not {each!r}")
        if not is_any(each, identities):
            first, *_, last = (*identities.values(), *identities.values())
            raise UnknownError(f"devices: the fleet has none that is {each!r}, there are: {first} to {last}")
    return several


def is_any(device: str | int, identities: Mapping[int, str]) -> bool:
    """Return whether a number or a pattern of identities is that of any of these devices. identities: by number."""
    if isinstance(device, str):
        return any(map(Patterns([device]).match, identities.values()))
    return device in identities


def checked_actions(kind: FaultKind, actions: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the actions that a fault hits, None for all. Raises LabError for an action that its kind cannot hit."""
    able = tuple(each for each in ACTIONS if each not in kind.never)
    if actions is None:
        return able if kind.never else None
    several = (actions,) if isinstance(actions, str) else tuple(actions)
    for each in several:
        if each not in able:
            raise UnknownError(unknown("action that it can hit", each, able))
    return several
