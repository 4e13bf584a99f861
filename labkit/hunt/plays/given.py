"""Values and faults of a play that are given instead of drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from labkit.core.errors import LabError
from labkit.hunt.draw import Draw, OtherValueError
from labkit.hunt.faults.drawn_faults import DrawnFault
from labkit.hunt.literals import kept
from labkit.hunt.promises.promise import Promise

GivenValue = tuple[str | None, object]  # with its label
GivenFault = DrawnFault | tuple[str, Mapping[str, Any]]


class GivenValues:
    """Source of the values of a play: those of another play, in their order.

    values: pairs of label and value, as in `Played.drawn`.
    """

    def __init__(self, values: Iterable[GivenValue]) -> None:
        self._values = list(values)
        self._next = 0
        for each in self._values:
            match each:
                case (str() | None, _):
                    pass
                case _:
                    raise LabError(f"values: expected pairs of a label and a value, not {each!r:.100}")

    def __call__(self, strategy: Any, label: Any = None) -> Any:
        """Return the next value. Raises OtherValueError if the story draws a value that was not given."""
        wanted = "a value without label" if label is None else f"{label!r}"
        if self._next == len(self._values):
            raise OtherValueError(
                f"the story draws {wanted}, after all {self._next} given values: it is not as it was"
            )
        name, value = self._values[self._next]
        if name != label:
            raise OtherValueError(
                f"the story draws {wanted}, and the given value number {self._next + 1} is of {name!r}"
            )
        self._next += 1
        return kept(value)


class GivenFaults:
    """Source of the faults of a play: given ones, whatever the promises.

    faults: DrawnFaults, or pairs of kind and settings.
    """

    def __init__(self, faults: Iterable[GivenFault]) -> None:
        self._faults = tuple(map(_fault, faults))

    def faults(self, draw: Draw, promises: tuple[Promise, ...]) -> tuple[DrawnFault, ...]:
        return self._faults


def _fault(given: object) -> DrawnFault:
    match given:
        case DrawnFault():
            fault = given
        case (str() as kind, Mapping() as settings):
            fault = DrawnFault(kind, dict(settings))
        case _:
            raise LabError(f"faults: expected pairs of a kind and settings, not {given!r:.100}")
    fault.check()
    return fault
