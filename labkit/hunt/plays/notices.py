"""Notices of a play beside its verdicts: crashes, warnings, parts that ran, and the records of promises' own looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.hunt.plays.crashes import crash_warning, crashes_of, is_hit_by_faults
from labkit.hunt.promises.promise import Verdict
from labkit.lab.fleet_limits import FleetLimits
from labkit.lab.lab import Lab
from labkit.lab.observer import LabObserver
from labkit.labtime.device_scheduler import Failure


class PlayNotices:
    """Notices of one play. lab: of the play, which warns of nothing from now on; limits: of its fleets."""

    def __init__(self, lab: Lab, limits: FleetLimits) -> None:
        self._observer = LabObserver(lab)
        self._observer.keep_mistakes()
        self._observer.limit_fleets(limits)
        self._failures: Sequence[tuple[str, Failure]] = ()
        self._looks: Sequence[range] = ()
        self.began = self._observer.now  # lab time

    def begin(self) -> None:
        """Begin with the story of the lab."""
        self._failures, self._looks = self._observer.crashes(), self._observer.looks()

    def accept_ends(self) -> None:
        """Let lab time go on after the end of a program, which a promise may be about."""
        self._observer.accept_ends()

    def of_play(self, verdicts: Sequence[Verdict], *, has_promises: bool) -> dict[str, Any]:
        """Return the fields of a `Played` by name, once the story is over.

        verdicts: on the promises that the play judged; has_promises: whether the story has any.
        """
        observer, crashes = self._observer, crashes_of(self._failures)
        is_hit = has_promises and bool(crashes) and observer.read(is_hit_by_faults)
        excused = [each for each in crashes if is_hit and each.is_of_exchange]
        warnings = [*observer.take_mistakes(), *map(crash_warning, excused)]
        untested = [each for each in verdicts if each.state == "untested" and each.reason]
        warnings += [f"promise {each.promise!r}: {each.reason}" for each in untested]
        is_broken = any(each.state in ("broken", "failed") for each in verdicts)
        return {
            "crashes": tuple(each for each in crashes if each not in excused),
            "warnings": tuple(dict.fromkeys(warnings)),
            "dropped": observer.dropped_records,
            "parts": observer.parts(),
            "looks": observer.names_in_text(self._looks) if is_broken else (),
        }
