"""What came of a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from labkit.core.errors import LabkitError

Outcome = Literal["passed", "failed", "warned", "skipped", "broken", "not reached"]
BLAMED: tuple[Outcome, ...] = ("failed", "warned", "broken")  # the outcomes that speak against a requirement


class Mismatch(LabkitError):
    """The target did not do what the requirement says.

    what: what was looked at; exchange: the request and the answer as text, without secrets.
    """

    def __init__(self, what: str, expected: object, actual: object, exchange: str = "") -> None:
        super().__init__(f"{what}: expected {expected}, got {actual}")
        self.what = what
        self.expected = str(expected)
        self.actual = str(actual)
        self.exchange = exchange


class NotReached(LabkitError):
    """The check could not get to what it checks, because the target breaks another requirement that it relies on.

    cause: the id of that requirement, whose own check fails; mismatch: what the target does instead.
    """

    def __init__(self, cause: str, mismatch: Mismatch) -> None:
        super().__init__(f"{cause}: {mismatch}")
        self.cause = cause
        self.mismatch = mismatch


class Unavailable(LabkitError):
    """The target cannot play this situation; the check is skipped with this reason."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one check.

    failed: a `must` does not hold; warned: a `choice` differs; skipped: with the reason; broken: the check itself
    went wrong, which says nothing about the target; not reached: the target breaks something else that the check
    relies on, so that it says neither yes nor no. cause: the id of the requirement that is broken then. seconds: real
    time. outcomes: where a check compares by many requirements (a model), the outcomes of those that did not simply
    pass; the verdict's own is the worst of them.
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

    def of(self, requirement: str) -> Outcome:
        """The outcome for one of its requirements."""
        return self.outcomes.get(requirement, "passed" if self.outcomes else self.outcome)

    @property
    def blamed(self) -> tuple[str, ...]:
        """The requirements that it speaks of in the first place: of a model, those whose rules differed."""
        return tuple(each for each in self.requirements if self.of(each) in BLAMED) or self.requirements

    def explanation(self) -> str:
        """What went wrong, in one line."""
        if not self.expected and not self.actual:
            return self.reason
        return f"{self.reason}: expected {self.expected}, got {self.actual}"

    def as_dict(self) -> dict[str, Any]:
        """The verdict as plain data, for JSON."""
        return {**asdict(self), "requirements": list(self.requirements)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Verdict:
        return cls(**{**data, "requirements": tuple(data["requirements"])})
