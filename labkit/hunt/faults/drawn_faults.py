"""Faults of one play: plain data, put into a lab and removed from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

from labkit.control.clock import number_of
from labkit.core.errors import LabError, SettingsError, UnknownError, unknown
from labkit.fleet.fault_arguments import DeviceFaultKeywords, device_fault
from labkit.hunt.faults.absent import absent_device, absent_product
from labkit.hunt.kinds import GROUPS, KINDS
from labkit.lab.arguments import build_settings
from labkit.lab.faults import Fault
from labkit.lab.lab import Lab
from labkit.lab.observer import LabObserver
from labkit.settings import FaultSettings, OverlapSettings

OF_DEVICES = frozenset(GROUPS["devices"])
ORDER = frozenset(GROUPS["order"])
RESTART = "restart"
PROGRAM_RESTART, POWER_CUT, CREDENTIAL_LOST = OF_PROGRAMS = GROUPS["programs"]


@dataclass(frozen=True)
class DrawnFault:
    """A fault of a play, as plain data that can be written to a file.

    kind: such as `request lost`; settings: of a request, call, event, outgoing request or provider as of
    `lab.faults.add`, of devices as of `lab.device_faults.add`, of a restart `after` and `down`, in seconds, of a
    program these with `program`, the identity of its run; of `overlap` and `handler order` as of `lab.overlap`.
    """

    kind: str
    settings: Mapping[str, Any]

    def check(self) -> None:
        """Raise LabError for an unknown kind, or for settings that a lab would not accept."""
        if self.kind not in KINDS:
            raise UnknownError(unknown("kind of fault", self.kind, sorted(KINDS)))
        try:
            _TYPES.get(self.kind, _LabFault).check(self)
        except SettingsError as error:  # begins with the kind
            raise LabError(str(error)) from None
        except LabError as error:
            raise LabError(f"{self.kind}: {error}") from None

    def __str__(self) -> str:
        return f"{self.kind}: {', '.join(f'{name} {value}' for name, value in self.settings.items())}"


class QuietSince(NamedTuple):
    """Moment from which on a fault does nothing. record: number of the journal's newest record at its last hit."""

    time: float | None = None
    record: int = 0


NEVER = QuietSince()  # of a fault without a hit


class _Put(Protocol):
    """Interface of a fault in a lab.

    hits: how often it did hit; absent: once it has ended without a hit, a sentence about a name that the lab lacks.
    """

    hits: int
    absent: str

    def end(self) -> QuietSince:
        """Remove the fault; return since when it does nothing, `NEVER` if it did not hit."""

    def count(self) -> None:
        """Bring `hits` up to date."""


class PutFaults:
    """The faults of a play, in its lab.

    lab: in a story that has not begun yet. Products, solutions and fleets that the faults name may be added later.
    """

    def __init__(self, lab: Lab, faults: Iterable[DrawnFault]) -> None:
        faults = tuple(faults)
        numbers: Counter[str] = Counter()
        self._put: list[_Put] = []
        orders = {
            name: each for fault in faults if fault.kind in ORDER for name, each in fault.settings.items()
        }
        if orders:  # one call, since each replaces the settings of the one before
            lab.overlap(**orders)
        for each in faults:
            numbers[each.kind] += 1
            made = _TYPES.get(each.kind, _LabFault)
            # not numbered over all kinds: what a fault draws then stays when another one is left out
            self._put.append(made(lab, each, f"{each.kind} {numbers[each.kind]}"))

    @property
    def hits(self) -> tuple[int, ...]:
        """Number of hits of each fault so far."""
        for each in self._put:
            each.count()
        return tuple(each.hits for each in self._put)

    @property
    def absent(self) -> tuple[str, ...]:
        """For each fault that has ended without a hit a sentence about a name that the lab lacks, or else nothing."""
        return tuple(each.absent for each in self._put)

    def end(self) -> QuietSince:
        """Remove all faults; return the moment from which on none has an effect, `NEVER` if none has hit.

        What a fault delays may go on later.
        """
        return max((end for each in self._put if (end := each.end()) != NEVER), default=NEVER)


class _LabFault:
    """A fault at a request, a service call, an event, an outgoing request or a provider."""

    def __init__(self, lab: Lab, fault: DrawnFault, name: str) -> None:
        self.hits, self.absent = 0, ""
        self._lab = lab
        self._settings = fault.settings
        self._name = name
        self._began = lab.clock.time
        lab.faults.prepare(name=name, **fault.settings)

    @staticmethod
    def check(fault: DrawnFault) -> None:
        build_settings(FaultSettings, fault.kind, dict(fault.settings))

    def count(self) -> None:
        there = self._there()
        if there is not None:
            self.hits = there.hits

    def end(self) -> QuietSince:
        there = self._there()
        if there is None:
            return NEVER
        info = there.info
        self.hits = info.hits
        there.remove()
        if not info.hits:
            prefix = f"fault {info.name!r} at {info.where!r}: "
            self.absent = "; ".join(each.removeprefix(prefix) for each in info.warnings)
            self.absent = self.absent or absent_device(self._lab, self._settings.get("identity"))
            return NEVER
        settings, now = self._settings, self._lab.clock.time
        last, record = max(
            (each.time / 1_000_000, each.sequence)
            for each in self._lab.journal.select("fault")
            if each.detail is not None and each.detail["fault"] == self._name
        )
        over = last
        if info.state == "active":
            over, record = now, LabObserver(self._lab).last_record
        elif settings.get("first") != info.hits and "seconds" in settings:
            over = min(now, self._began + settings.get("after", 0.0) + settings["seconds"])
        lasting = [_longest(settings[name]) for name in ("delay", "late", "down") if name in settings]
        return QuietSince(max(over, last + max(lasting, default=0.0)), record)

    def _there(self) -> Fault | None:
        """Return the fault, None if the story has removed it."""
        return {each.name: each for each in self._lab.faults}.get(self._name)


class _DeviceFault:
    """A fault of the devices of fleets."""

    def __init__(self, lab: Lab, fault: DrawnFault, name: str) -> None:
        self.hits, self.absent = 0, ""
        self._lab = lab
        self._settings = fault.settings
        self._began = lab.clock.time
        self._name = lab.device_faults.add(fault.kind, name=name, **fault.settings)
        self._is_over = False

    @staticmethod
    def check(fault: DrawnFault) -> None:
        known = ("products", *DeviceFaultKeywords.__annotations__)
        for name in fault.settings:
            if name not in known:
                raise UnknownError(unknown("setting", name, known))
        settings = {name: value for name, value in fault.settings.items() if name != "products"}
        device_fault(fault.kind, fault.kind, cast(DeviceFaultKeywords, settings), None)

    def count(self) -> None:
        if not self._is_over and self._name in list(self._lab.device_faults):
            self.hits = self._lab.device_faults.counts(self._name).hits

    def end(self) -> QuietSince:
        if self._name not in list(self._lab.device_faults):
            return NEVER
        counts = self._lab.device_faults.counts(self._name)
        self.hits, self._is_over = counts.hits, True
        last_hit = LabObserver(self._lab).last_hit(self._name)
        self._lab.device_faults.remove(self._name)
        if not self.hits:
            products, devices = self._settings.get("products"), self._settings.get("devices")
            self.absent = absent_product(self._lab, products) or absent_device(self._lab, devices)
            return NEVER
        began = counts.last if counts.last is not None else self._began + self._settings.get("after", 0.0)
        lasting = (
            0.0 if self._name.startswith("wrong clock") else _longest(self._settings.get("seconds", 0.0))
        )
        return QuietSince(min(self._lab.clock.time, began + lasting), last_hit)


class MomentFault:
    """A fault at the moment `after` of a story, whose effect lasts for the seconds `down`.

    hits: how often it did hit; absent: once it has ended without a hit, a sentence about a name that the lab lacks.
    """

    def __init__(self, lab: Lab, fault: DrawnFault, name: str) -> None:
        self.hits, self.absent = 0, ""
        self._lab = lab
        self._down = float(fault.settings.get("down", 0.0))
        self._quiet = NEVER
        self._is_over = False
        lab.at(fault.settings.get("after", 0.0), self._happen)

    def _act(self) -> None:
        """Do what the fault does, after `_note_hit`; nothing if there is nothing that it can hit."""
        raise NotImplementedError

    def _happen(self) -> None:
        if not self._is_over:
            self._act()

    def _note_hit(self) -> None:
        self.hits += 1
        self._quiet = QuietSince(self._lab.clock.time + self._down, LabObserver(self._lab).last_record)

    def count(self) -> None:
        """Do nothing: the fault counts itself."""

    def end(self) -> QuietSince:
        """Hit no more; return since when the effect is over."""
        self._is_over = True
        return self._quiet


class ProgramFault(MomentFault):
    """A fault of one program at a moment; hits unless the program is not running then."""

    def __init__(self, lab: Lab, fault: DrawnFault, name: str) -> None:
        super().__init__(lab, fault, name)
        self._kind = fault.kind
        self._program: str = fault.settings["program"]

    @staticmethod
    def check(fault: DrawnFault) -> None:
        """Raise LabError for settings that this kind does not have."""
        known = ("program", "after") if fault.kind == CREDENTIAL_LOST else ("program", "after", "down")
        for name, value in fault.settings.items():
            if name not in known:
                raise UnknownError(unknown("setting", name, known))
            if name != "program" and number_of(value, name) < 0:
                raise LabError(f"{name}: expected seconds, 0 or more, not {value!r}")
        if not isinstance(fault.settings.get("program"), str):
            raise LabError("program: expected the identity of a run of lab.firmware, such as 't-001'")

    def _act(self) -> None:
        run = self._lab.firmware.runs.get(self._program)
        if run is None or run.ended is not None:
            return
        if self._kind == CREDENTIAL_LOST and not self._forget():
            return
        self._note_hit()
        if self._kind == PROGRAM_RESTART:
            run.restart(down=self._down)
        elif self._kind == POWER_CUT:
            run.power_cut(down=self._down)

    def _forget(self) -> bool:
        """Have the products at which the program is a device forget its credentials; return whether there is one."""
        found = False
        for each in sorted(LabObserver(self._lab).product_ids()):
            with suppress(UnknownError):  # it is no device there
                self._lab.product(each).forget_credentials(self._program)
                found = True
        return found

    def end(self) -> QuietSince:
        """Hit no more; return since when the program runs again."""
        ended = super().end()
        if ended == NEVER:
            runs = self._lab.firmware.runs
            self.absent = "" if self._program in runs else unknown("program", self._program, runs)
        return ended


class _Restart(MomentFault):
    """A restart of the platform at a moment."""

    @staticmethod
    def check(fault: DrawnFault) -> None:
        for name, value in fault.settings.items():
            if name not in ("after", "down"):
                raise UnknownError(unknown("setting of a restart", name, ("after", "down")))
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise LabError(f"{name}: expected seconds, 0 or more, not {value!r}")

    def _act(self) -> None:
        self._note_hit()
        self._lab.restart(down=self._down)


class _Order:
    """Overlap and order of handlers: no fault that ends, so that nothing has to recover."""

    def __init__(self, lab: Lab, fault: DrawnFault, name: str) -> None:
        self.hits, self.absent = 0, ""
        self._lab = lab
        self._needed = 1 if fault.kind == "overlap" else 2
        self._is_over = False

    @staticmethod
    def check(fault: DrawnFault) -> None:
        build_settings(OverlapSettings, fault.kind, dict(fault.settings))

    def count(self) -> None:
        """Count the calls of handlers, or the events that several solutions handled."""
        if self._is_over:
            return
        kind = "call" if self._needed == 1 else "script"
        causes = Counter(each.cause for each in self._lab.journal.select(kind) if each.cause is not None)
        self.hits = sum(number >= self._needed for number in causes.values())

    def end(self) -> QuietSince:
        self.count()
        self._is_over = True
        self._lab.overlap()
        return NEVER


def _longest(value: Any) -> float:
    """Return a number of seconds, or the larger one of a range."""
    return float(max(value) if isinstance(value, list | tuple) else value)


_TYPES: dict[str, Any] = {
    RESTART: _Restart,
    **dict.fromkeys(OF_DEVICES, _DeviceFault),
    **dict.fromkeys(OF_PROGRAMS, ProgramFault),
    **dict.fromkeys(ORDER, _Order),
}
