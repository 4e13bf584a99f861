"""Twins: two tenants that hold the same names, ids and addresses, and play the same story side by side.

What one does must change nothing of the other, show nothing of it, and come out alike in both. A story is a list of
acts; `§` in their arguments stands for the tenant's own mark, `¤` for that of the other, `<name>` for a secret that an
earlier act kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.verdict import Mismatch

if TYPE_CHECKING:
    from labkit.lab.solution import Solution

MARK, OTHER = "§", "¤"
MARKS = ("alpha", "gamma")

Views = Mapping[str, Sequence["Act"]]


@dataclass(frozen=True, slots=True)
class Act:
    """A call of an operation, `Service.operation`.

    keep: names for secrets in the result: of the whole (`""`) or of one of its fields; views: what it may change;
    crossed: with its secrets the other twin is refused; fails: it gives an error in both.
    """

    call: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    views: str = ""
    crossed: bool = False
    fails: bool = False


def act(call: str, views: str = "", /, *, keep: str = "", crossed: bool = False, fails: bool = False,
        **parameters: Any) -> Act:  # fmt: skip
    """An act. keep: `field=name` with spaces between, or a name for the whole result."""
    kept = {source: name for source, _, name in (each.rpartition("=") for each in keep.split())}
    return Act(call, parameters, kept, views, crossed, fails)


class Twin:
    """One of the two. solution: calls the operations; secrets: what its acts kept."""

    def __init__(self, solution: Solution, mark: str) -> None:
        self.solution = solution
        self.mark = mark
        self.secrets: dict[str, str] = {}
        self.seen: dict[str, Any] = {}  # the views, as they were last

    def call(self, act: Act, secrets: Mapping[str, str] | None = None) -> Any:
        """The result of an act, with these secrets instead of its own."""
        service, _, operation = act.call.partition(".")
        parameters = _filled(act.parameters, self.mark, self.secrets if secrets is None else secrets)
        return self.solution.call(service, operation, parameters)

    def play(self, act: Act) -> Any:
        """Do an act: its result without what is the tenant's own. Raises Mismatch for an error, or where one lacks."""
        result = self.call(act)
        if is_error(result) != act.fails:
            raise Mismatch(str(act.call), "an error" if act.fails else "no error", expect.hidden(result))
        for source, name in act.keep.items():
            found = result if not source else result.get(source) if isinstance(result, dict) else None
            if not isinstance(found, str) or not found:
                raise Mismatch(f"{source or 'the result'} of {act.call}", "a text", expect.hidden(result))
            self.secrets[name] = found
        return self.plain(result)

    def view(self, acts: Iterable[Act]) -> list[Any]:
        """What reads give, errors too."""
        return [self.plain(self.call(each)) for each in acts]

    def plain(self, result: Any) -> Any:
        """A result in which marks, secrets and the solution's own names are replaced."""
        text = json.dumps(result, sort_keys=True, default=str)
        for name, secret in self.secrets.items():
            text = text.replace(json.dumps(secret)[1:-1], f"<{name}>")
        for own in (self.solution.id, self.mark):
            text = text.replace(own, MARK)
        return json.loads(text)


def is_error(result: object) -> bool:
    """Is it an error object?"""
    return isinstance(result, dict) and "error" in result and "status" in result


def play(twins: tuple[Twin, Twin], story: Iterable[Act], views: Views) -> None:
    """Play a story in both, an act at a time. Raises Mismatch at the first difference."""
    for each in story:
        results = []
        for one, other in (twins, twins[::-1]):
            if each.crossed:
                _refused(one, other, each, views)
            results.append(one.play(each))
            what = f"{each.call} of one solution"
            for name in each.views.split() or views:
                seen = one.view(views[name])
                _hides(f"{name} after {what}", seen, other)
                one.seen[name] = seen
                if name in other.seen:
                    _same(
                        f"{name} of the other solution after {what}",
                        other.view(views[name]),
                        other.seen[name],
                    )
            _hides(what, results[-1], other)
        _same(f"{each.call} in both solutions", results[1], results[0])
        for name in each.views.split() or views:
            _same(f"{name} of both solutions after {each.call}", twins[1].seen[name], twins[0].seen[name])


def unchanged(twins: tuple[Twin, Twin], views: Views, since: str) -> None:
    """Everything must be in both as it was last. Raises Mismatch."""
    for one in twins:
        for name, acts in views.items():
            _same(f"{name} {since}", one.view(acts), one.seen[name])


def see(twins: tuple[Twin, Twin], views: Views) -> None:
    """Keep how everything is in both, which must be alike. Raises Mismatch."""
    for name, acts in views.items():
        for one in twins:
            one.seen[name] = one.view(acts)
        _same(f"{name} of both solutions", twins[1].seen[name], twins[0].seen[name])


def _refused(one: Twin, other: Twin, act: Act, views: Views) -> None:
    """The other must be refused with the secrets of this one, and change nothing."""
    result = other.call(act, one.secrets)
    if not is_error(result):
        raise Mismatch(f"{act.call} with what another solution was given", "an error", expect.hidden(result))
    for name in act.views.split() or views:
        for each in (one, other):
            if name in each.seen:
                _same(f"{name} after that refusal", each.view(views[name]), each.seen[name])


def _hides(what: str, result: Any, other: Twin) -> None:
    """Nothing of the other may be in a result."""
    text = json.dumps(result, default=str)
    held = [each for each in (other.mark, other.solution.id, *other.secrets.values()) if each in text]
    if held:
        raise Mismatch(what, "nothing of another solution", expect.hidden(text))


def _same(what: str, actual: Any, expected: Any) -> None:
    if json.dumps(actual, sort_keys=True) != json.dumps(expected, sort_keys=True):
        raise Mismatch(what, expect.hidden(repr(expected)), expect.hidden(repr(actual)))


def _filled(value: Any, mark: str, secrets: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _filled(each, mark, secrets) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(each, mark, secrets) for each in value]
    if isinstance(value, str):
        if value.startswith("<") and value.endswith(">"):
            return secrets.get(value[1:-1], value)
        return value.replace(MARK, mark).replace(OTHER, MARKS[1 - MARKS.index(mark)])
    return value
