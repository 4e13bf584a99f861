"""Mutants: breaking the platform on purpose, to prove that the checks notice.

A mutant is a named fault, of which for each of its requirements at least one check must tell, while one smoke check
passes. Most are rows (rows.py): one of the faults that every lab can have. What no row can say is a patch: it replaces
one public function of the platform for a time. The platform has no hook for this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from labkit.conformance import areas
from labkit.conformance.breaking import put
from labkit.conformance.verdict import Outcome, Verdict

SMOKE = "timestamp/is-plain-text"
NOTICED: tuple[Outcome, ...] = ("failed", "warned")  # the verdicts of a check that notices a fault


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault, and which requirements notice. title: what is wrong; smoke: the check that passes all the same."""

    name: str
    requirements: tuple[str, ...]
    title: str
    smoke: str

    def breaks(self) -> dict[str, Any]:
        """What it breaks, as plain data for JSON."""
        return {}


@dataclass(frozen=True, slots=True)
class Patch(Mutant):
    """A fault in code: what it breaks, and how the function is replaced; alone: has it a lab of its own, for what it
    breaks was done before, or stays; from_start: has that lab to start with it?
    """

    patches: str
    replace: Callable[[Any], Any]
    alone: bool
    from_start: bool

    def breaks(self) -> dict[str, Any]:
        """The function."""
        return {"patches": self.patches}


@dataclass(frozen=True, slots=True)
class Row(Mutant):
    """A fault of the lab, as `lab.faults.add` takes it."""

    fault: Mapping[str, Any]

    def breaks(self) -> dict[str, Any]:
        """The fault."""
        return {"fault": {**self.fault}}


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a mutant. survived: the requirements whose checks all passed; noticed: the checks that told."""

    mutant: str
    survived: tuple[str, ...]
    smoke_passed: bool
    broken: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()

    @property
    def killed(self) -> bool:
        return not self.survived and self.smoke_passed and not self.broken

    def as_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The opposite of `as_dict`."""
        lists = ("survived", "broken", "noticed")
        return cls(**{**values, **{name: tuple(values[name]) for name in lists}})


def instead(
    requirements: str, patches: str, *, smoke: str = SMOKE, alone: bool = False, from_start: bool = False
) -> Callable[[Callable[..., Any]], Patch]:
    """Declare a patch that breaks one or more requirements (ids separated by spaces).

    patches: the function, as `labkit.package.module:Class.method`. The decorated function is called instead of it, with
    the original and what that would be called with; its docstring tells the fault. It comes for a time to a lab where
    others were tried before. alone: others would not let it be noticed, or it would break what comes after it, so that
    it needs a process, and a copy of a fresh lab, of its own; from_start: even there it would come too late, for what
    it breaks is done while a lab starts.
    """

    def declare(change: Callable[..., Any]) -> Patch:
        title = (change.__doc__ or "").strip()
        made = patch(requirements, patches, title, change, smoke=smoke, alone=alone, from_start=from_start)
        return replace(made, name=areas.name_of(change))

    return declare


def patch(
    requirements: str,
    patches: str,
    title: str,
    change: Callable[..., Any],
    *,
    smoke: str = SMOKE,
    alone: bool = False,
    from_start: bool = False,
) -> Patch:
    """The same in one expression: `no_length = patch("DEV-X-1", SIZE, "…", lambda original, …: …)`.

    change: what is called instead (see breaking.py for what is common). The patch is called as the variable that holds
    it.
    """
    return Patch(
        "",
        tuple(requirements.split()),
        title,
        smoke,
        patches,
        lambda original: put(original, change),
        alone,
        from_start,
    )


def mutant(
    requirements: str, patches: str, *, smoke: str = SMOKE, alone: bool = False, from_start: bool = False
) -> Callable[[Callable[[Any], Any]], Patch]:
    """Declare a patch that remembers something: the decorated function gets the original and returns the broken one."""

    def declare(change: Callable[[Any], Any]) -> Patch:
        title = (change.__doc__ or "").strip()
        ids = tuple(requirements.split())
        return Patch(areas.name_of(change), ids, title, smoke, patches, change, alone, from_start)

    return declare


def all_patches() -> list[Patch]:
    """Every fault in code, in the order of the files and of the lines in them."""
    found: list[Patch] = []
    for module in areas.modules("mutants"):
        for name, member in vars(module).items():
            if isinstance(member, Patch):
                found.append(member if member.name else replace(member, name=areas.named(module, name)))
    return found


def judge(mutant: Mutant, verdicts: Iterable[Verdict]) -> Trial:
    """The trial of a mutant from the verdicts of its checks and of the smoke check."""
    verdicts = list(verdicts)
    noticed = {name for each in verdicts for name in each.requirements if each.of(name) in NOTICED}
    return Trial(
        mutant.name,
        tuple(each for each in mutant.requirements if each not in noticed),
        any(each.check == mutant.smoke and each.outcome == "passed" for each in verdicts),
        tuple(f"{each.check}: {each.reason}" for each in verdicts if each.outcome == "broken"),
        tuple(each.check for each in verdicts if each.outcome in NOTICED),
    )
