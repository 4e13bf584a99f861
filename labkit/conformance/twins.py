"""Twins: two tenants with the same names, ids and addresses, which run the same story side by side.

An act of one must change nothing of the other, show nothing of it, and have the same result in both. A story is a
list of acts; in their arguments `§` is replaced by the tenant's own mark, `¤` by the mark of the other, `<name>` by a
secret that an earlier act stored.
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

    keep: names for secrets in the result: the whole (`""`) or one of its fields; views: names of the views that it
    may change; crossed: whether the other twin is refused with its secrets; fails: whether it is an error in both.
    """

    call: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    views: str = ""
    crossed: bool = False
    fails: bool = False


def act(call: str, views: str = "", /, *, keep: str = "", crossed: bool = False, fails: bool = False,
        **parameters: Any) -> Act:  # fmt: skip
    """Return an act. keep: `field=name` separated by spaces, or a name for the whole result."""
    kept = {source: name for source, _, name in (each.rpartition("=") for each in keep.split())}
    return Act(call, parameters, kept, views, crossed, fails)


class Twin:
    """One of the two tenants. solution: calls the operations; secrets: kept from the results of its acts."""

    def __init__(self, solution: Solution, mark: str) -> None:
        self.solution = solution
        self.mark = mark
        self.secrets: dict[str, str] = {}
        self.seen: dict[str, Any] = {}  # the latest results of the views

    def call(self, act: Act, secrets: Mapping[str, str] | None = None) -> Any:
        """Call an operation as this tenant. secrets: override its own."""
        service, _, operation = act.call.partition(".")
        parameters = _filled(act.parameters, self.mark, self.secrets if secrets is None else secrets)
        return self.solution.call(service, operation, parameters)

    def play(self, act: Act) -> Any:
        """Run an act and return its result, normalized by `plain`. Raises Mismatch unless it fails or succeeds as
        declared.
        """
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
        """Return the results of read operations, errors included."""
        return [self.plain(self.call(each)) for each in acts]

    def plain(self, result: Any) -> Any:
        """Return a result in which marks, secrets and the solution's own names are replaced by placeholders."""
        text = json.dumps(result, sort_keys=True, default=str)
        for name, secret in self.secrets.items():
            text = text.replace(json.dumps(secret)[1:-1], f"<{name}>")
        for own in (self.solution.id, self.mark):
            text = text.replace(own, MARK)
        return json.loads(text)


def is_error(result: object) -> bool:
    """Return whether a result is an error object."""
    return isinstance(result, dict) and "error" in result and "status" in result


def play(twins: tuple[Twin, Twin], story: Iterable[Act], views: Views) -> None:
    """Run a story in both twins, an act at a time. Raises Mismatch at the first difference."""
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
    """Raise Mismatch unless all views of both twins have their latest results. since: what happened in between."""
    for one in twins:
        for name, acts in views.items():
            _same(f"{name} {since}", one.view(acts), one.seen[name])


def store_views(twins: tuple[Twin, Twin], views: Views) -> None:
    """Store the results of all views of both twins. Raises Mismatch unless both are alike."""
    for name, acts in views.items():
        for one in twins:
            one.seen[name] = one.view(acts)
        _same(f"{name} of both solutions", twins[1].seen[name], twins[0].seen[name])


def _refused(one: Twin, other: Twin, act: Act, views: Views) -> None:
    """Raise Mismatch unless the other twin is refused with the secrets of this one, and the act changes nothing."""
    result = other.call(act, one.secrets)
    if not is_error(result):
        raise Mismatch(f"{act.call} with what another solution was given", "an error", expect.hidden(result))
    for name in act.views.split() or views:
        for each in (one, other):
            if name in each.seen:
                _same(f"{name} after that refusal", each.view(views[name]), each.seen[name])


def _hides(what: str, result: Any, other: Twin) -> None:
    """Raise Mismatch if a result contains a name or secret of the other twin."""
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
