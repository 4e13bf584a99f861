"""The requirements that a model compares answers by. A requirement that was violated is excluded from then on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from labkit.conformance import expect
from labkit.conformance.verdict import Mismatch
from labkit.core.errors import LabkitError

if TYPE_CHECKING:
    import httpx


class Differs(LabkitError):
    """An answer violates a requirement of the model. requirement: its id."""

    def __init__(self, requirement: str, mismatch: Mismatch) -> None:
        super().__init__(f"{requirement}: {mismatch}")
        self.requirement = requirement
        self.mismatch = mismatch


class RuleError(LabkitError):
    """A mistake in a model: it compares by a requirement that it does not declare."""


class Rules:
    """The requirements of a model. without: the excluded ones; compared: the ones compared so far."""

    def __init__(self, known: Iterable[str], without: Iterable[str] = ()) -> None:
        self.known = frozenset(known)
        self.without = frozenset(without)
        self.compared: set[str] = set()

    def holds(
        self,
        requirement: str,
        what: str,
        actual: object,
        expected: object,
        seen: httpx.Response | expect.Shown | None = None,
    ) -> bool:
        """Return whether `actual` equals `expected`; False only if the requirement is excluded.

        The model then follows the target. what: names the value in the report; seen: the exchange that shows it. Raises
        Differs if they are not equal, RuleError for a requirement that the model does not declare.
        """
        if requirement not in self.known:
            raise RuleError(f"the model does not name {requirement}")
        self.compared.add(requirement)
        if actual == expected:
            return True
        if requirement in self.without:
            return False
        exchange = seen.shown() if isinstance(seen, expect.Shown) else expect.exchange(seen)
        was, wanted = expect.hidden(shortened(actual)), expect.hidden(shortened(expected))
        raise Differs(requirement, Mismatch(what, wanted, was, exchange))


def shortened(value: object, longest: int = 300) -> str:
    """Return the repr of a value, cut to `longest` characters."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
