"""Crashes of devices in a play: errors that ended their behaviours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from labkit.core.code_lines import with_line
from labkit.core.journal import Journal
from labkit.core.record_lines import one_line
from labkit.fleet.fleet_device import EXCHANGE_ERRORS
from labkit.labtime.device_scheduler import Failure

LONGEST = 500  # characters of a crash
OF_EXCHANGE = frozenset(each.__name__ for each in EXCHANGE_ERRORS)
OF_FAULTS = ("fault", "restart")  # kinds of records


@dataclass(frozen=True)
class DeviceCrash:
    """Error that ended the behaviour of a fleet's device.

    actor: name of the device in the journal; error: class and text; place: last line of the behaviour's file that ran,
    as `file:line`; at: lab time in seconds since 1970.
    """

    actor: str
    error: str
    place: str
    at: float

    @property
    def kind(self) -> str:
        """Name of the error's class."""
        return self.error.partition(":")[0]

    @property
    def is_of_exchange(self) -> bool:
        """Whether a refused or lost request ended the behaviour.

        In a play with faults that is no breach where a story has promises: these say what has to survive faults, such
        as `recovers_within`.
        """
        return self.kind in OF_EXCHANGE

    def __str__(self) -> str:
        return with_line(one_line(f"{self.actor}: {self.error}", LONGEST), self.place)


def crashes_of(failures: Iterable[tuple[str, Failure]]) -> tuple[DeviceCrash, ...]:
    """Return the crashes of a play, oldest first. failures: of behaviours, with the names of their devices."""
    return tuple(DeviceCrash(actor, each.error, each.place, each.time) for actor, each in failures)


def is_hit_by_faults(journal: Journal) -> bool:
    """Return whether anything in a play was hit by a fault or a restart."""
    return any(True for kind in OF_FAULTS for _ in journal.iterate(kind))


def crash_warning(crash: DeviceCrash) -> str:
    """Return a warning about a crash that is no breach, the same for all devices."""
    text = f"a behaviour ends at the first {crash.kind}, which it does not handle"
    return f"{with_line(text, crash.place)}: its device does nothing more in the play"
