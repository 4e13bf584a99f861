"""Filters of journal records by their fields."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from labkit.control.journal import Entry, entry
from labkit.core.errors import LabError, UnknownError, unknown
from labkit.core.records import KINDS, Record
from labkit.faults.patterns import Patterns

Texts = str | Iterable[str]  # patterns
Where = Callable[[Entry], object]
CONDITIONS = ("kind", "actor", "product", "identity", "summary", "status", "where")
CLASS = re.compile(r"[1-5]([0-9][0-9]|[0-9]x|xx)")  # of statuses, or one of them


@dataclass(frozen=True)
class JournalFilter:
    """Filter of records. only_kind: the one kind, if there is only one; text: description; names: given patterns."""

    kinds: frozenset[str] | None
    actor: Patterns
    product: Patterns
    identity: Patterns
    summary: Patterns
    status: Statuses | None
    where: Where | None
    by_device: bool
    text: str
    names: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls,
        kind: str | Iterable[str] | None,
        actor: Texts | None,
        product: Texts | None,
        identity: Texts | None,
        summary: Texts | None,
        status: int | str | Iterable[int | str] | None,
        where: Where | None,
        what: str = "never",
    ) -> JournalFilter:
        """Return a filter of these conditions, for the promise `what`. Raises LabError for none or a wrong one."""
        kinds = None if kind is None else _texts("kind", kind)
        for each in kinds or ():
            if each not in KINDS:
                raise UnknownError(unknown("kind of record", each, KINDS))
        if where is not None and not callable(where):
            raise LabError(f"where: expected a function of a record, not {where!r:.100}")
        if where is not None:
            expect_argument("where", where, "record")
        named = {"actor": actor, "product": product, "identity": identity, "summary": summary}
        texts = {name: _texts(name, value) for name, value in named.items() if value is not None}
        statuses = None if status is None else Statuses.of(status)
        words = {"kind": kinds, **texts, "status": None if statuses is None else statuses.texts}
        shown = [f"{name}={' or '.join(value)}" for name, value in words.items() if value is not None]
        shown += [f"where={getattr(where, '__name__', 'function')}"] if where is not None else []
        if not shown:
            raise LabError(f"{what}: expected a condition, such as kind='error' or status='5xx'")
        patterns = {name: Patterns(texts.get(name)) for name in named}
        by_device = bool({"product", "identity"} & set(texts))
        only = None if kinds is None else frozenset(kinds)
        return cls(
            only,
            **patterns,
            status=statuses,
            where=where,
            by_device=by_device,
            text=", ".join(shown),
            names=texts,
        )

    @property
    def only_kind(self) -> str | None:
        """The kind of all records that it matches, None if there are several."""
        return next(iter(self.kinds)) if self.kinds is not None and len(self.kinds) == 1 else None

    @property
    def is_near_only(self) -> bool:
        """Whether it matches each record that is near."""
        return self.status is None and self.where is None and self.summary.match(None)

    def is_near(self, record: Record) -> bool:
        """Return whether a record has the kind, the actor and the device."""
        if self.kinds is not None and record.kind not in self.kinds:
            return False
        if not self.actor.match(record.actor):
            return False
        if not self.by_device:
            return True
        product, slash, identity = record.actor.partition("/")
        return self.product.match(product) and self.identity.match(identity if slash else None)

    def matches(self, record: Record) -> bool:
        """Return whether it matches a record that is near."""
        if self.status is not None and record.status not in self.status:
            return False
        return self.summary.match(record.summary) and (self.where is None or bool(self.where(entry(record))))

    def __str__(self) -> str:
        return self.text


class Statuses:
    """Set of statuses, given as numbers and classes. texts: of these."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.texts = texts
        self._firsts = tuple(each.rstrip("x") for each in texts)

    @classmethod
    def of(cls, given: int | str | Iterable[int | str]) -> Statuses:
        """Return the set. given: a number, `5xx`, `40x`, or several of these. Raises LabError for anything else."""
        try:
            several = (given,) if isinstance(given, int | str) else tuple(given)
        except TypeError:
            several = (given,)  # type: ignore[assignment]
        for each in several:
            number = isinstance(each, int) and not isinstance(each, bool) and 100 <= each <= 599
            if not (number or (isinstance(each, str) and CLASS.fullmatch(each))):
                raise LabError(f"status: expected a number such as 503, or 5xx, not {each!r:.100}")
        return cls(tuple(map(str, several)))

    def __contains__(self, status: int | None) -> bool:
        return status is not None and str(status).startswith(self._firsts)


def expect_argument(what: str, function: Callable[..., object], *arguments: str) -> None:
    """Raise LabError for a function that cannot be called with these arguments, and for an async one.

    what, arguments: names of the function and the arguments for the error.
    """
    count = "one argument" if len(arguments) == 1 else f"{len(arguments)} arguments"
    expected = f"{count}, the {' and the '.join(arguments)}"
    for each in (function, getattr(type(function), "__call__", None)):  # noqa: B004  a method of the class
        if inspect.iscoroutinefunction(each):
            raise LabError(f"{what} is async: expected a plain function of {expected}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some callables of C have no signature
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        raise LabError(f"{what}: expected a function of {expected}, not of {signature}") from None


def _texts(name: str, given: Texts) -> tuple[str, ...]:
    """Return one or several texts. Raises LabError for anything else."""
    try:
        several = (given,) if isinstance(given, str) else tuple(given)
    except TypeError:
        several = ()
    if not several or not all(isinstance(each, str) for each in several):
        raise LabError(f"{name}: expected a text or several, not {given!r:.100}")
    return several
