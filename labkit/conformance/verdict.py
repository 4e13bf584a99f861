"""What came of a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from labkit.core.errors import LabkitError

Outcome = Literal["passed", "failed", "warned", "skipped", "broken"]


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


class Unavailable(LabkitError):
    """The target cannot play this situation; the check is skipped with this reason."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one check.

    failed: a `must` does not hold; warned: a `choice` differs; skipped: with the reason; broken: the check itself
    went wrong, which says nothing about the target. seconds: real time. outcomes: where a check compares by many
    requirements (a model), the outcomes of those that did not simply pass; the verdict's own is the worst of them.
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

    def of(self, requirement: str) -> Outcome:
        """The outcome for one of its requirements."""
        return self.outcomes.get(requirement, "passed" if self.outcomes else self.outcome)

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
