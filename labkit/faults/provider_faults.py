"""The faults that a provider implements itself, by name (`slow`, `malformed JSON`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar, cast

from labkit.core.errors import LabError, UnknownError, unknown
from labkit.faults.fault import ActiveFault
from labkit.faults.tools import FaultTools
from labkit.settings import FaultSettings

S = TypeVar("S", bound=str)
Known = Mapping[str, tuple[str, ...]]


def find_provider_fault(known: Known, name: str, step: str | None) -> tuple[str, str]:
    """Return name and step of a provider's fault; letter case is ignored, the default step is the fault's first.

    Raises UnknownError for an unknown fault or a step that it cannot hit, listing the known ones.
    """
    found = next((each for each in known if each.lower() == name.lower()), None)
    if found is None:
        raise UnknownError(unknown("fault", name, known))
    hit = next((each for each in known[found] if step in (None, each)), None)
    if hit is None:
        raise LabError(f"{found!r} cannot hit {step!r}, but: {', '.join(known[found])}")
    return found, hit


class ProviderFaults(Generic[S]):
    """The faults of one provider, a view of the lab's list.

    known: name of each fault → the steps that it can hit; the first is the default. add, faults, remove:
    operations on the lab's list.
    """

    def __init__(
        self,
        provider: str,
        known: Mapping[str, tuple[S, ...]],
        tools: FaultTools,
        add: Callable[[FaultSettings], object],
        faults: Callable[[], list[ActiveFault]],
        remove: Callable[[list[ActiveFault]], object],
    ) -> None:
        self.provider = provider
        self.known: Known = known
        self._tools = tools
        self._add = add
        self._faults = faults
        self._remove = remove

    def add(self, name: str, step: str | None = None) -> None:
        """Let a fault hit the next request of a step; letter case is ignored.

        Raises LabError for an unknown name or step.
        """
        found, hit = find_provider_fault(self.known, name, step)
        self._add(FaultSettings(where=f"provider {self.provider} {hit}", does=found, first=1))

    def take(self, *steps: S, actor: str = "", cause: int | None = None) -> str | None:
        """Return the name of the oldest active fault that hits one of these steps, and count the hit.

        actor, cause: those of the journal's record that it hits.
        """
        for fault in self._own():
            if fault.place.second in steps and self._tools.hits(fault, actor or self.provider, cause):
                return cast(str, fault.settings.does)
        return None

    @property
    def waiting(self) -> list[str]:
        """The faults that may still hit: `slow at token`."""
        return [f"{each.settings.does} at {each.place.second}" for each in self._own()]

    def clear(self) -> None:
        """Remove all faults of the provider."""
        self._remove([each for each in self._faults() if self._is_own(each)])

    def _own(self) -> list[ActiveFault]:
        return [each for each in self._faults() if self._is_own(each) and each.state != "ended"]

    def _is_own(self, fault: ActiveFault) -> bool:
        return fault.place.kind == "provider" and fault.place.first == self.provider
