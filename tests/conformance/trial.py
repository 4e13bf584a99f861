"""Results of running mutants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from labkit.conformance.mutant import Mutant
from labkit.conformance.verdict import Outcome, Verdict

NOTICED: tuple[Outcome, ...] = ("failed", "warned")  # the verdicts of a check that notices a fault


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of running a mutant. survived: requirements that no check noticed; noticed: the checks that did."""

    mutant: str
    survived: tuple[str, ...]
    smoke_passed: bool
    broken: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()

    @property
    def killed(self) -> bool:
        """Whether every requirement was noticed, the smoke check passed, and nothing was broken."""
        return not self.survived and self.smoke_passed and not self.broken

    def as_dict(self) -> dict[str, Any]:
        """Return the trial as plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the trial that `as_dict` made this data of."""
        lists = ("survived", "broken", "noticed")
        return cls(**{**values, **{name: tuple(values[name]) for name in lists}})


def judge(mutant: Mutant, verdicts: Iterable[Verdict]) -> Trial:
    """Return the trial of a mutant from the verdicts of its checks and of the smoke check."""
    verdicts = list(verdicts)
    noticed = {name for each in verdicts for name in each.requirements if each.outcome_of(name) in NOTICED}
    return Trial(
        mutant.name,
        tuple(each for each in mutant.requirements if each not in noticed),
        any(each.check == mutant.smoke and each.outcome == "passed" for each in verdicts),
        tuple(f"{each.check}: {each.reason}" for each in verdicts if each.outcome == "broken"),
        tuple(each.check for each in verdicts if each.outcome in NOTICED),
    )
