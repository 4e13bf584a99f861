"""The rules that a model compares answers by: requirements, of which one that differed is left out from then on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from labkit.conformance import expect
from labkit.conformance.verdict import Mismatch
from labkit.core.errors import LabkitError

if TYPE_CHECKING:
    import httpx


class Differs(LabkitError):
    """An answer is another than the model's. requirement: the id of the rule that it breaks."""

    def __init__(self, requirement: str, mismatch: Mismatch) -> None:
        super().__init__(f"{requirement}: {mismatch}")
        self.requirement = requirement
        self.mismatch = mismatch


class RuleError(LabkitError):
    """A mistake in a model: it compares by a rule that it does not name."""


class Rules:
    """The requirements of a model. without: those that are left out; compared: those that came up so far."""

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
        """Is `actual` as the rule has it? False where the rule is left out: the model then follows the target.

        seen: the exchange that shows it.
        Raises Differs where it is not, RuleError for a rule that the model did not name.
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
    """A value as Python shows it, not too long."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
