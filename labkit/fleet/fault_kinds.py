"""Kinds of device faults, and checks of their arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labkit.core.errors import LabError, UnknownError, in_seconds, unknown
from labkit.faults.patterns import Patterns
from labkit.fleet.channel import NoAnswerError
from labkit.fleet.device import Credentials

if TYPE_CHECKING:
    from labkit.fleet.fleet_device import FleetDevice

ACTIONS = (
    *("activate", "write", "read", "write and read", "record", "poll", "list", "info", "download"),
    "timestamp",
)
RESTART = "platform restart"
LOST_CREDENTIAL = "lost credential"
WRONG_CLOCK = "wrong clock"
CUT_OFF = "cut off"
LATE_START = "late start"
LONGEST = 366 * 86400.0  # seconds
Devices = str | int | Iterable[str | int]
Span = float | tuple[float, float]  # seconds, or a range from which they are drawn


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


def _jump(device: FleetDevice, seconds: float) -> None:
    device.clock_error += seconds


async def _forget(device: FleetDevice, seconds: float) -> None:
    device.disconnect()
    await device.virtual.use(Credentials())


async def _reboot(device: FleetDevice, seconds: float) -> None:
    await device.reboot(seconds)


@dataclass(frozen=True)
class FaultKind:
    """A kind of fault of devices.

    meaning: description of the effect; apply: injects it at a request of a device, None for other faults; before:
    whether it is injected before the request is sent rather than after the answer arrives; None: after it on a virtual
    clock, before it on a running one. seconds: default of the argument, None if the kind has none; negative: whether
    seconds may be negative; once: hits once unless a frequency is given; never: actions that it cannot hit; at_moment:
    injects it at a moment of a run (`after`), whatever the device is doing; after: whether it has that argument.
    """

    meaning: str
    apply: Callable[[FleetDevice, float], Awaitable[None]] | None
    before: bool | None = True
    seconds: float | None = None
    negative: bool = False
    once: bool = False
    never: frozenset[str] = frozenset()
    at_moment: Callable[[FleetDevice, float], object] | None = None
    after: Literal["", "possible", "needed"] = ""


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
    WRONG_CLOCK: FaultKind(
        "the device's own clock jumps by `seconds`, back where they are negative: before a request, without a "
        "frequency once, or at the moment `after`, also while the device sleeps, which it does for as long as before",
        _set_wrong,
        seconds=60.0,
        negative=True,
        once=True,
        at_moment=_jump,
        after="possible",
    ),
    "reboot": FaultKind(
        "the device starts again instead of sending, after `seconds` of lab time", _reboot, seconds=0.0
    ),
    "forgotten credential": FaultKind(
        "the device forgets its token, password or certificate before a request, which then gets 401; it cannot "
        "activate anew (409) before the platform forgets them, too (`product.forget_credentials`); without a frequency "
        "once",
        _forget,
        once=True,
        never=frozenset({"timestamp"}),
    ),
    LOST_CREDENTIAL: FaultKind(
        "the platform loses the credential of the device at the moment `after`: requests get 401 from then on, and the "
        "device may `activate(anew=True)`",
        None,
        after="needed",
    ),
    CUT_OFF: FaultKind(
        "the device has no connection for `seconds`, from `after` on or from the beginning of a run: its requests get "
        "no answer, and answers that arrive then are lost",
        None,
        seconds=600.0,
        after="possible",
    ),
    LATE_START: FaultKind("the device starts `seconds` later than the run", None, seconds=60.0),
    RESTART: FaultKind(
        "the platform loses its power `after` seconds of a run and refuses connections for `seconds`; what it was "
        "about is lost (`Platform.restart`)",
        None,
        seconds=0.0,
        after="needed",
    ),
}


def is_of_requests(does: str, after: object) -> bool:
    """Return whether a fault hits requests of devices, rather than happening at a moment or at a start."""
    kind = KINDS[does]
    return does == CUT_OFF or (kind.apply is not None and (after is None or kind.at_moment is None))


def check_time(does: str, after: object, **of_requests: object) -> None:
    """Raise LabError for `after` of a kind without it, or no `after` where it is needed.

    of_requests: arguments of faults of requests; refused for a fault that happens at a moment or at a start.
    """
    kind = KINDS[does]
    if after is None and kind.after == "needed":
        raise LabError(
            f"after: a {does} needs its time, in seconds from the beginning of a run: add({does!r}, after=3600)"
        )
    if after is not None and not kind.after:
        able = ", ".join(name for name, each in KINDS.items() if each.after)
        raise LabError(f"after: {does!r} has none, but: {able}; a fault of requests has every= or chance=")
    for name, value in of_requests.items():
        if value is not None and (does == CUT_OFF or not is_of_requests(does, after)):
            raise LabError(
                f"{name}: a {does} is no matter of requests" + (" with after" if kind.apply else "")
            )


def check_whom(does: str, **whom: object) -> None:
    """Raise LabError if a restart of the platform has arguments that choose devices."""
    for name, value in whom.items():
        if does == RESTART and value is not None:
            raise LabError(f"{name}: a platform restart is no matter of devices")


def checked_seconds(kind: FaultKind, does: str, seconds: object) -> Span:
    """Return the seconds of a fault, by default those of its kind. Raises LabError for invalid ones."""
    if kind.seconds is None:
        if seconds is not None:
            raise LabError(f"seconds: {does} takes none")
        return 0.0
    if seconds is None:
        return kind.seconds
    return _checked_span("seconds", does, seconds, -LONGEST if kind.negative else 0.0)


def checked_after(does: str, after: object) -> Span | None:
    """Return the time of a fault. Raises LabError for an invalid one."""
    return None if after is None else _checked_span("after", does, after, 0.0)


def _checked_span(name: str, does: str, value: object, low: float) -> Span:
    """Return a number of seconds, or a range of them. Raises LabError naming the argument."""
    if does == RESTART or not isinstance(value, list | tuple):
        return _checked_number(name, value, low)
    if len(value) != 2:
        raise LabError(f"{name}: expected a number, or two as in (0, 60), not {len(value)} numbers")
    first, last = (_checked_number(name, each, low) for each in value)
    if first >= last:
        raise LabError(f"{name}: expected a smaller number before a larger one, not {first:g} and {last:g}")
    return first, last


def _checked_number(name: str, value: object, low: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= LONGEST:
        raise LabError(
            f"{name}: expected {low:.9g} to {LONGEST:.9g} seconds, not {value!r}{in_seconds(value)}"
        )
    return float(value)


def range_text(value: Span) -> str:
    """Return seconds, or a range of them, as text: `10 s`, `0 to 60 s`."""
    return " to ".join(f"{each:g}" for each in (value if isinstance(value, tuple) else (value,))) + " s"


def checked_devices(
    devices: Devices | None, identities: Mapping[int, str] | None
) -> tuple[str | int, ...] | None:
    """Return the devices that a fault hits, None for all. Raises UnknownError for one that the fleet does not have.

    identities: of the fleet's devices, by number; None if they are not known.
    """
    if devices is None:
        return None
    several = (devices,) if isinstance(devices, str | int) else tuple(devices)
    for each in several:
        if isinstance(each, bool) or not isinstance(each, str | int):
            raise LabError(f"devices: expected identities such as 't-0*', or numbers, not {each!r}")
        if identities is not None and not is_any(each, identities):
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
