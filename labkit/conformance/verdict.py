"""Verdicts: the results of checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from labkit.core.errors import LabkitError

Outcome = Literal["passed", "failed", "warned", "skipped", "broken", "not reached"]
BLAMED: tuple[Outcome, ...] = ("failed", "warned", "broken")  # the outcomes that count against a requirement


class Mismatch(LabkitError):
    """The target's behaviour differs from the requirement.

    what: the thing compared; exchange: the request and the answer as text, without secrets.
    """

    def __init__(self, what: str, expected: object, actual: object, exchange: str = "") -> None:
        super().__init__(f"{what}: expected {expected}, got {actual}")
        self.what = what
        self.expected = str(expected)
        self.actual = str(actual)
        self.exchange = exchange


class NotReached(LabkitError):
    """The target violates another requirement that the check relies on, so that the check could not test its own.

    cause: the id of that requirement, whose own check fails; mismatch: the target's actual behaviour.
    """

    def __init__(self, cause: str, mismatch: Mismatch) -> None:
        super().__init__(f"{cause}: {mismatch}")
        self.cause = cause
        self.mismatch = mismatch


class Unavailable(LabkitError):
    """The target lacks a feature that the check needs; the check is skipped with this reason."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one check.

    outcome: failed, a `must` does not hold; warned, a `choice` differs; skipped, with the reason; broken, the check
    itself went wrong, which says nothing about the target; not reached, the target violates another requirement,
    `cause`, that the check relies on. seconds: real time. outcomes: for a check that compares by many requirements (a
    model), the outcomes of the requirements that did not simply pass; the verdict's own is the worst of them.
    exchanges: of a check that passed, the last ones that it compared, as text, to show beside those of a failure.
    """

    check: str
    requirements: tuple[str, ...]
    title: str
    outcome: Outcome
    reason: str = ""
    expected: str = ""
    actual: str = ""
    exchange: str = ""
    seconds: float = 0.0
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    cause: str = ""
    exchanges: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def outcome_of(self, requirement: str) -> Outcome:
        """Return the outcome for one of its requirements."""
        return self.outcomes.get(requirement, "passed" if self.outcomes else self.outcome)

    @property
    def blamed(self) -> tuple[str, ...]:
        """The requirements that the outcome is about; for a model check, the requirements whose rules differed."""
        return (
            tuple(each for each in self.requirements if self.outcome_of(each) in BLAMED) or self.requirements
        )

    def explanation(self) -> str:
        """Return the difference between expected and actual, or the reason, in one line."""
        if not self.expected and not self.actual:
            return self.reason
        return f"{self.reason}: expected {self.expected}, got {self.actual}"

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data, for JSON."""
        return {**asdict(self), "requirements": list(self.requirements), "exchanges": list(self.exchanges)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Verdict:
        """Return the verdict that `as_dict` made this data of."""
        return cls(
            **{
                **data,
                "requirements": tuple(data["requirements"]),
                "exchanges": tuple(data.get("exchanges", ())),
            }
        )
