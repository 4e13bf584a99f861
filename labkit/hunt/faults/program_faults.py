"""Faults of programs that live on lab time: a restart, a power cut, a credential that the platform loses."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from labkit.control.clock import number_of
from labkit.core.errors import LabError, UnknownError, unknown
from labkit.hunt.faults.moment_faults import MomentFault
from labkit.hunt.kinds import GROUPS
from labkit.lab.lab import Lab
from labkit.lab.observer import LabObserver

if TYPE_CHECKING:
    from labkit.hunt.faults.drawn_faults import DrawnFault

RESTART, POWER_CUT, CREDENTIAL_LOST = OF_PROGRAMS = GROUPS["programs"]


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
        if self._kind == RESTART:
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

    def end(self) -> float | None:
        """Hit no more; return the lab time at which the program runs again, None without a hit."""
        ended = super().end()
        if ended is None:
            runs = self._lab.firmware.runs
            self.absent = "" if self._program in runs else unknown("program", self._program, runs)
        return ended
