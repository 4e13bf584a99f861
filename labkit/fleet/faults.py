"""Faults injected at a fleet's devices and at their end of the connection (`fault_kinds.KINDS`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from labkit.core.errors import LabError, UnknownError, unknown
from labkit.core.extras import needs
from labkit.core.handle import Handle
from labkit.core.keywords import lists, shows_keywords
from labkit.fleet.fault_arguments import DeviceFaultKeywords, device_fault, fault_name
from labkit.fleet.fault_kinds import KINDS, is_of_requests
from labkit.fleet.run_faults import DeviceFault, RunFaults
from labkit.fleet.shared_faults import FaultsOfAll

if TYPE_CHECKING:
    import pandas


class FleetFaults(Handle):
    """Faults of a fleet, in the order in which they were added. Counts start from 0 in each run.

    Those of all fleets (`lab.device_faults`) follow, except one with the name of a fault that was added here.
    """

    def __init__(
        self,
        seed: int,
        identities: Mapping[int, str],
        faults: Iterable[DeviceFault] = (),
        shared: FaultsOfAll | None = None,
    ) -> None:
        """identities: of the fleet's devices, by number; shared: faults of all fleets, which count here, too."""
        self._seed = seed
        self._identities = identities
        self._faults = {each.name: each for each in faults}
        self._shared = shared
        self._last_run: RunFaults | None = None  # of the last run

    @shows_keywords(DeviceFaultKeywords)
    @lists({name: kind.meaning for name, kind in KINDS.items()}, "Faults")
    def add(
        self,
        does: str,
        *,
        name: str | None = None,
        **given: Unpack[DeviceFaultKeywords],
    ) -> str:
        """Add a fault from the fleet's next run on, and return its name: `fleet.faults.add("drop after", every=10)`.

        does: a fault of the list below; seconds: of lab time; after: when it happens, in seconds of lab time from the
        beginning of a run; two numbers, `seconds=(0, 60)`, draw from the seed for each device. every: hits every n-th
        request of each device; chance: from 0 to 1, from the device's own seed; first: largest number of hits per
        device. devices: identities (`*` stands for any characters) or numbers; share: chance of each to be
        hit, drawn from the seed, such as 0.3; actions: `write`, `poll` … Raises LabError naming what is wrong and what
        was expected.
        """
        name = fault_name(name, self._faults, "fleet.faults", "fault")
        self._faults[name] = device_fault(does, name, given, self._identities)
        return name

    def remove(self, name: str) -> None:
        """Remove the fault with this `name` from the next run on.

        Raises UnknownError, listing the existing names, if there is none.
        """
        if name not in self._faults and any(each.name == name for each in self):
            raise LabError(f"fault {name!r} is one of all fleets: lab.device_faults.remove({name!r})")
        if name not in self._faults:
            raise UnknownError(unknown("fault", name, self._faults))
        del self._faults[name]

    def clear(self) -> None:
        """Remove all faults from the next run on."""
        self._faults.clear()

    @property
    def own(self) -> tuple[DeviceFault, ...]:
        """The faults that were added here, without those of all fleets."""
        return tuple(self._faults.values())

    def begin(self) -> RunFaults | None:
        """Return the faults of a new run, None if there are none, so that they cost nothing."""
        shared = () if self._shared is None else tuple(self._without_own(self._shared.due()))
        faults = (*self.own, *shared)
        requests = tuple(each for each in faults if is_of_requests(each.does, each.after))
        others = tuple(each for each in faults if each not in requests)
        before, self._last_run = self._last_run, None
        if faults:
            self._last_run = RunFaults(self._seed, requests, others)
        if self._shared is not None:
            self._shared.follow(before, self._last_run if shared else None)
        return self._last_run

    def _without_own(self, shared: Iterable[DeviceFault]) -> Iterator[DeviceFault]:
        return (each for each in shared if each.name not in self._faults)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per fault, with its counts in the last run."""
        return [
            {
                "name": each.name,
                "does": each.what,
                "often": each.often,
                "devices": each.whom,
                "actions": "all" if each.actions is None else ", ".join(each.actions),
                "seen": self._total(each.name, "seen"),
                "hits": self._total(each.name, "hits"),
            }
            for each in self
        ]

    def frame(self) -> pandas.DataFrame:
        """Return the rows as a table indexed by name."""
        with needs("tables"):
            import pandas

        columns = ["name", "does", "often", "devices", "actions", "seen", "hits"]
        return pandas.DataFrame(self.rows(), columns=columns).set_index("name")

    def _repr_html_(self) -> str:
        html: str = self.frame().reset_index().to_html(index=False)
        return html if len(self.frame()) else "<i>no faults</i>"

    def __iter__(self) -> Iterator[DeviceFault]:
        shared = () if self._shared is None else self._without_own(self._shared.all())
        return iter((*self.own, *shared))

    def __len__(self) -> int:
        return len(tuple(iter(self)))

    def __repr__(self) -> str:
        lines = [
            f"{each['name']}: {each['does']}, {each['often']}; hit {each['hits']} of {each['seen']}"
            for each in self.rows()
        ]
        return "\n".join(lines) or "<no faults>"

    def _total(self, name: str, column: str) -> int:
        counts = {} if self._last_run is None else self._last_run.counts
        return sum(getattr(each, column) for (fault, _), each in counts.items() if fault == name)
