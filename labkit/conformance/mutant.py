"""Mutants: breaking the platform on purpose, to prove that the checks notice.

A mutant patches one named function of the platform in a process of its own, starts a fresh lab there, and
runs the checks of its requirements, of which for each requirement at least one must fail, and one smoke
check, which must pass. The platform has no hook for this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from labkit.conformance import areas
from labkit.conformance.verdict import Outcome, Verdict

SMOKE = "timestamp/needs-no-credentials"
NOTICED: tuple[Outcome, ...] = ("failed", "warned")  # the verdicts of a check that notices a fault


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: what it breaks, which requirements notice, and how the function is replaced."""

    name: str
    requirements: tuple[str, ...]
    patches: str
    replace: Callable[[Any], Any]
    smoke: str

    @property
    def title(self) -> str:
        return (self.replace.__doc__ or "").strip()


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a mutant. survived: the requirements whose checks all passed."""

    mutant: str
    survived: tuple[str, ...]
    smoke_passed: bool
    broken: tuple[str, ...] = ()

    @property
    def killed(self) -> bool:
        return not self.survived and self.smoke_passed and not self.broken

    def as_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The opposite of `as_dict`."""
        return cls(**{**values, **{name: tuple(values[name]) for name in ("survived", "broken")}})


def mutant(
    requirements: str, patches: str, *, smoke: str = SMOKE
) -> Callable[[Callable[[Any], Any]], Mutant]:
    """Declare a mutant of one or more requirements (ids separated by spaces).

    patches: the function, as `labkit.package.module:Class.method`. The decorated function gets the original and
    returns the broken one; its docstring tells the fault.
    """

    def declare(replace: Callable[[Any], Any]) -> Mutant:
        return Mutant(areas.name_of(replace), tuple(requirements.split()), patches, replace, smoke)

    return declare


def all_mutants() -> list[Mutant]:
    """Every mutant, in the order of the files and of the lines in them."""
    found: list[Mutant] = []
    for module in areas.modules("mutants"):
        found += [member for member in vars(module).values() if isinstance(member, Mutant)]
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
    )
