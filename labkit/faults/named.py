"""The faults that a provider has by name (`slow`, `malformed JSON`): what it does itself when one hits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar, cast

from labkit.core.errors import LabError, unknown
from labkit.faults.fault import Fault
from labkit.faults.tools import Tools
from labkit.settings import FaultSettings

S = TypeVar("S", bound=str)
Known = Mapping[str, tuple[str, ...]]


def named(known: Known, name: str, step: str | None) -> tuple[str, str]:
    """Name and step of a fault that a provider has; letter case does not count, and without a step it is the first.

    Raises LabError for an unknown fault or a step that it cannot hit, naming those that are known.
    """
    found = next((each for each in known if each.lower() == name.lower()), None)
    if found is None:
        raise LabError(unknown("fault", name, known))
    hit = next((each for each in known[found] if step in (None, each)), None)
    if hit is None:
        raise LabError(f"{found!r} cannot hit {step!r}, but: {', '.join(known[found])}")
    return found, hit


class ProviderFaults(Generic[S]):
    """The faults of one provider, which the lab's list has too.

    known: name of each fault that there is → the steps that it can hit; the first where none is named.
    add, faults, remove: of the lab's list.
    """

    def __init__(
        self,
        provider: str,
        known: Mapping[str, tuple[S, ...]],
        tools: Tools,
        add: Callable[[FaultSettings], object],
        faults: Callable[[], list[Fault]],
        remove: Callable[[list[Fault]], object],
    ) -> None:
        self.provider = provider
        self.known: Known = known
        self._tools = tools
        self._add = add
        self._faults = faults
        self._remove = remove

    def add(self, name: str, step: str | None = None) -> None:
        """Let a fault hit the next of a step; letter case does not count. Raises LabError as `named` does."""
        found, hit = named(self.known, name, step)
        self._add(FaultSettings(where=f"provider {self.provider} {hit}", does=found, first=1))

    def take(self, *steps: S, actor: str = "", cause: int | None = None) -> str | None:
        """The oldest fault that hits one of these steps now.

        actor, cause: those of the journal's record that it hits.
        """
        for fault in self._own():
            if fault.place.second in steps and self._tools.hits(fault, actor or self.provider, cause):
                return cast(str, fault.settings.does)
        return None

    @property
    def waiting(self) -> list[str]:
        """Those that may hit yet: `slow at token`."""
        return [f"{each.settings.does} at {each.place.second}" for each in self._own()]

    def clear(self) -> None:
        """Let none happen."""
        self._remove([each for each in self._faults() if self._is_own(each)])

    def _own(self) -> list[Fault]:
        return [each for each in self._faults() if self._is_own(each) and not each.spent]

    def _is_own(self, fault: Fault) -> bool:
        return fault.place.kind == "provider" and fault.place.first == self.provider
