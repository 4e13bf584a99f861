"""Choice of the faults of plays: their kinds, and limits of their places and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.core.errors import LabError, UnknownError, unknown
from labkit.faults.patterns import Patterns
from labkit.hunt.kinds import GROUPS, KINDS, Under, kinds_of

PLACES = ("where", "product", "solution", "program")  # settings that are texts
SETTINGS = (*PLACES, "delay", "late", "down", "seconds", "calls", "in_step")
IN_STEP = "in_step"  # may be left out like a kind
NOT = "!"  # begins a pattern of places that are left out


@dataclass(frozen=True)
class FaultLimit:
    """Limit of one setting of a kind of fault.

    allowed: True or False; the least and the largest number; or patterns of places, of which those with `!` leave out.
    """

    kind: str
    setting: str
    allowed: bool | tuple[float, float] | tuple[str, ...]

    @classmethod
    def of(cls, kind: str, setting: str, given: object) -> FaultLimit:
        """Return a limit as a user writes it: a number means at most. Raises LabError for another value."""
        if setting not in SETTINGS:
            raise UnknownError(f"{kind}: {unknown('setting', setting, SETTINGS)}")
        values = tuple(given) if isinstance(given, list | tuple) else (given,)
        expected = "seconds, or two numbers of them in order"
        if setting == IN_STEP:
            expected = "True or False"
            if isinstance(given, bool):
                return cls(kind, setting, given)
        elif setting in PLACES:
            expected = "a pattern or several"
            if values and all(isinstance(each, str) for each in values):
                return cls(kind, setting, values)
        elif len(values) in (1, 2) and all(type(each) in (int, float) for each in values):
            low, high = (float(values[0] if len(values) > 1 else -values[0]), float(values[-1]))
            if low <= high:
                return cls(kind, setting, (low, high))
        raise LabError(f"{kind}: {setting}: expected {expected}, not {given!r:.100}")

    def nearest(self, value: Any) -> Any:
        """Return the allowed value that is nearest to a drawn one; a place as it is."""
        if isinstance(self.allowed, bool):
            return self.allowed
        if self.setting in PLACES:
            return value
        if isinstance(value, list | tuple):
            return [self.nearest(each) for each in value]
        low, high = self.allowed
        return min(max(value, low), high)

    def has(self, value: Any) -> bool:
        """Return whether a value is allowed. None: the fault has no such setting, and so no such place."""
        if self.setting not in PLACES:
            return value is None or self.nearest(value) == value
        assert isinstance(self.allowed, tuple)
        patterns = [str(each) for each in self.allowed]
        left_out = Patterns(each.removeprefix(NOT) for each in patterns if each.startswith(NOT))
        wanted = Patterns([each for each in patterns if not each.startswith(NOT)] or ["*"])
        return wanted.match(str(value or "")) and not left_out.match(str(value or ""))

    def __str__(self) -> str:
        allowed = self.allowed
        return f"{self.setting} {allowed if isinstance(allowed, bool) else ' '.join(map(str, allowed))}"


@dataclass(frozen=True)
class FaultChoice:
    """Kinds of faults that are chosen, and limits of some of them."""

    kinds: frozenset[str] = KINDS
    limits: tuple[FaultLimit, ...] = ()

    @classmethod
    def of(cls, names: Under, without: Under = ()) -> FaultChoice:
        """Return the choice that names mean.

        names: of kinds and groups; as a mapping with limits of each: `{"call error": {"where": "Keystore.*"}}`.
        without: names that are left out, and `in_step`. Raises UnknownError for an unknown name, LabError for a wrong
        limit.
        """
        left_out = (without,) if isinstance(without, str) else tuple(without)
        limits: list[FaultLimit] = []
        for name, given in names.items() if isinstance(names, Mapping) else ():
            if not isinstance(given, Mapping):
                raise LabError(f"{name}: expected its limits, such as {{'delay': 30}}, not {given!r:.100}")
            limits += [
                FaultLimit.of(kind, setting, value)
                for kind in sorted(kinds_of(name))
                for setting, value in given.items()
            ]
        if IN_STEP in left_out:
            limits.append(FaultLimit("overlap", IN_STEP, allowed=False))
        return cls(kinds_of(names, [each for each in left_out if each != IN_STEP]), tuple(limits))

    def __and__(self, other: FaultChoice) -> FaultChoice:
        return FaultChoice(self.kinds & other.kinds, tuple(dict.fromkeys((*self.limits, *other.limits))))

    def of_kind(self, kind: str) -> list[FaultLimit]:
        """Return the limits of a kind."""
        return [each for each in self.limits if each.kind == kind]

    def allows(self, kind: str, settings: Mapping[str, Any]) -> bool:
        """Return whether a fault is chosen."""
        values = {"product": settings.get("products"), **settings}
        return kind in self.kinds and all(each.has(values.get(each.setting)) for each in self.of_kind(kind))

    def has_place(self, kind: str, place: Mapping[str, str | None]) -> bool:
        """Return whether faults of a kind may be at a place. place: values of settings in `PLACES`."""
        return all(each.has(place[each.setting]) for each in self.of_kind(kind) if each.setting in PLACES)

    def narrowed(self, kind: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return drawn settings within the limits."""
        found = dict(settings)
        for each in self.of_kind(kind):
            if each.setting in found:
                found[each.setting] = each.nearest(found[each.setting])
        return found

    def __str__(self) -> str:
        """Return the groups that are whole, and the other kinds, with their limits."""
        limited = {each.kind for each in self.limits}
        whole = {
            name for name, kinds in GROUPS.items() if self.kinds >= set(kinds) and not limited & set(kinds)
        }
        others = self.kinds.difference(*(GROUPS[name] for name in whole))
        shown = [
            f"{each} ({'; '.join(map(str, self.of_kind(each)))})" if each in limited else each
            for each in sorted(others)
        ]
        return ", ".join([*(name for name in GROUPS if name in whole), *shown]) or "none"
