"""The handle of the faults of all fleets of a lab."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from labkit.core.errors import UnknownError, unknown
from labkit.core.handle import Handle
from labkit.core.keywords import lists, shows_keywords
from labkit.fleet.fault_arguments import SharedFaultKeywords
from labkit.fleet.fault_kinds import KINDS, RESTART
from labkit.lab.arguments import text_list
from labkit.lab.runtime import Runtime
from labkit.lab.show import rows_frame

if TYPE_CHECKING:
    import pandas

ROW = ("name", "does", "often", "devices", "products", "seen", "hits")


class DeviceFaultCounts(NamedTuple):
    """Counts of a fault's chances and hits among devices, and the lab time of its last hit, if it is known."""

    seen: int
    hits: int
    last: float | None


class LabDeviceFaults(Handle):
    """Faults of the devices of all fleets of a lab, also of fleets that are made later. `fleet.faults` shows them.

    Their times are those of the lab: `after=600` means 600 s after the fault was added, whenever the run of a fleet
    begins.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._shared = runtime.device_faults

    @shows_keywords(SharedFaultKeywords)
    @lists({name: kind.meaning for name, kind in KINDS.items() if name != RESTART}, "Faults")
    def add(
        self,
        does: str,
        *,
        products: str | Iterable[str] | None = None,
        name: str | None = None,
        **given: Unpack[SharedFaultKeywords],
    ) -> str:
        """Add a fault from each fleet's next run on, and return its name: `lab.device_faults.add("late start")`.

        does: a fault of the list below; products: ids of those whose devices it hits, all without it; after: when it
        happens, in seconds of lab time from now; a moment that is over when a run begins does not come again.
        seconds: of lab time; two numbers, `seconds=(0, 60)`, draw from the seed for each device, except of `cut off`.
        every, chance, first, devices, share, actions, name: as of `fleet.faults.add`. A fault of a fleet with the same
        name takes its place there. Raises LabError naming what is wrong and what was expected.
        """
        several = [products] if isinstance(products, str) else products
        ids = None if several is None else tuple(text_list(several, "ids of products"))
        return self._shared.add(does, name, given, ids, self._now())

    def counts(self, name: str) -> DeviceFaultCounts:
        """Return how often a fault could have hit devices, and how often it did, in all runs since it was added.

        name: of the fault. Raises UnknownError, listing the existing names, if there is none.
        """
        if name not in (names := [each.fault.name for each in self._shared]):
            raise UnknownError(unknown("fault", name, names))
        return DeviceFaultCounts(*self._shared.counts(name)[:3])

    def remove(self, name: str) -> None:
        """Remove the fault with this `name`, also from runs in progress.

        Raises UnknownError, listing the existing names, if there is none.
        """
        self._shared.remove(name)

    def clear(self) -> None:
        """Remove all faults, also from runs in progress."""
        for each in self:
            self._shared.remove(each)

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame of the faults, indexed by name: does, often, devices, products, seen, hits."""
        return rows_frame(self._rows(), ROW, "name")

    def __iter__(self) -> Iterator[str]:
        return iter([each.fault.name for each in self._shared])

    def __len__(self) -> int:
        return len(tuple(self._shared))

    def __repr__(self) -> str:
        lines = [
            f"{each['name']}: {each['does']}, {each['often']}; hit {each['hits']} of {each['seen']}"
            for each in self._rows()
        ]
        return "\n".join(lines) or "<no faults>"

    def _repr_html_(self) -> str:
        html: str = self.frame().reset_index().to_html(index=False)
        return html if self._rows() else "<i>no faults</i>"

    def _rows(self) -> list[dict[str, Any]]:
        found = []
        for each in self._shared:
            fault, counts = each.fault, self.counts(each.fault.name)
            products = "all" if each.products is None else ", ".join(each.products)
            row = (fault.name, fault.what, fault.often, fault.whom, products, counts.seen, counts.hits)
            found.append(dict(zip(ROW, row, strict=True)))
        return found

    def _now(self) -> float:
        return self._runtime.run(self._runtime.control.clock.state).time
