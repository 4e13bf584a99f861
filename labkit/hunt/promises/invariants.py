"""Ready promises about what has to follow, to be fresh, rare, unique, conserved or growing."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any

from labkit.control.journal import Entry, entry
from labkit.core.errors import LabError, unknown
from labkit.core.handle import short_trace
from labkit.core.journal import Journal
from labkit.core.record_lines import one_line, record_line
from labkit.core.records import Record
from labkit.hunt.kinds import KINDS, Under
from labkit.hunt.promises.custom import LONGEST_REASON, CheckFailedError, outcome_of
from labkit.hunt.promises.filters import CONDITIONS, JournalFilter, expect_argument
from labkit.hunt.promises.looking import Look, LookingPromise, Wrong
from labkit.hunt.promises.promise import Promise, checked_seconds
from labkit.hunt.promises.reading import Evidence, Finding, finding_of
from labkit.hunt.promises.ready import ReadyPromise, with_meaning
from labkit.lab.lab import Lab
from labkit.lab.observer import LabObserver

Number = float | None
By = Callable[[Entry], Hashable]
SECOND = 1_000_000  # microseconds
TINY = 1e-6  # seconds


@short_trace
@with_meaning
def within(
    seconds: float,
    check: Callable[[Lab, Entry], object],
    *,
    after: Mapping[str, Any],
    every: float | None = None,
    name: str | None = None,
    under: Under | None = None,
) -> Promise:
    """Promise that something follows each of certain records in time: `within(60, shown, after={"kind": "event"})`.

    seconds: of lab time, from the record, or from the end of the last fault if that is later. check: gets the lab and
    the record, and returns or raises what that of `always` does; it may accept what a still newer record has brought.
    after: conditions of the records, those of `never`, such as `{"kind": "request", "summary": "POST *", "status":
    "2xx"}`. every: seconds from look to look, by default a quarter of `seconds`. name: of the promise; under: kinds of
    faults under which it must hold, by default all.
    """
    limit, wanted = checked_seconds(seconds, "within: seconds"), _filter("within: after", after)
    step = limit / 4 if every is None else checked_seconds(every, "within: every")
    shown = f"within {limit:g} s after {wanted}" if name is None else name
    _name("within", check, name, "lab", "record")
    return LookingPromise(
        partial(_Following, wanted, check, limit), check, limit, step, shown, under, waits=True
    )


@short_trace
@with_meaning
def nothing_older(
    seconds: float,
    copies: Callable[[Lab], Mapping[Any, float]],
    *,
    every: float = 60,
    name: str | None = None,
    under: Under | None = None,
) -> Promise:
    """Promise that no copy is stale: `nothing_older(300, mirrors)`.

    seconds: of lab time that a copy may be old, and that it may need after the last fault. copies: gets the lab, and
    returns for each copy, by any name, the Unix seconds from which its content is. every: seconds from look to look,
    from the beginning of the story to its end. name: of the promise; under: kinds of faults under which it must hold,
    by default all.
    """
    limit, shown = checked_seconds(seconds, "nothing_older: seconds"), _name("nothing_older", copies, name)
    step = checked_seconds(every, "nothing_older: every")
    return LookingPromise(partial(_copies, copies), copies, limit, step, shown, under)


@short_trace
@with_meaning
def conserved(
    total: Callable[[Lab], Number],
    within: float = 60,
    *,
    every: float = 60,
    name: str | None = None,
    under: Under | None = None,
) -> Promise:
    """Promise that a total stays what it is at first, over devices, Keystore and people: `conserved(all_money)`.

    total: gets the lab, and returns a number, or None while there is none yet. within: seconds of lab time for which a
    wrong total may last, since work is under way, or after the last fault. every: seconds from look to look. name: of
    the promise; under: kinds of faults under which it must hold, by default all.
    """
    limit, shown = checked_seconds(within, "conserved: within", zero=True), _name("conserved", total, name)
    step = checked_seconds(every, "conserved: every")
    return LookingPromise(partial(_total, total), total, limit, step, shown, under, waits=True)


@short_trace
@with_meaning
def monotone(
    value: Callable[[Lab], Number | Mapping[Any, float]],
    *,
    every: float = 60,
    name: str | None = None,
    under: Under | None = None,
) -> Promise:
    """Promise that a number never falls, such as a meter's reading or a version: `monotone(readings)`.

    value: gets the lab, and returns a number, None while there is none yet, or several by name. every: seconds of lab
    time from look to look. name: of the promise; under: kinds of faults under which it must hold, by default all.
    """
    step, shown = checked_seconds(every, "monotone: every"), _name("monotone", value, name)
    return LookingPromise(partial(_growing, value), value, 0.0, step, shown, under, excuses=False)


@short_trace
@with_meaning
def at_most(
    most: int,
    per: float = 60,
    *,
    of: Mapping[str, Any],
    by: By | None = None,
    name: str | None = None,
    under: Under | None = None,
) -> Promise:
    """Promise that the journal has few records of a sort in any period, such as alarms: `at_most(3, of=ALARMS)`.

    most: records in any `per` seconds of lab time. of: conditions of the records, those of `never`, such as `{"kind":
    "call", "summary": "Notify.send"}`. by: gets a record, and returns what is counted separately, such as its actor.
    name: of the promise; under: kinds of faults under which it must hold, by default all.
    """
    if type(most) is not int or most < 0:
        raise LabError(f"at_most: most: expected a number of records, not {most!r:.100}")
    period, wanted = checked_seconds(per, "at_most: per"), _filter("at_most: of", of)
    judge = partial(_judge_rate, wanted=wanted, most=most, per=period, by=by)
    shown = f"at_most {most} per {period:g} s of {wanted}" if name is None else name
    return ReadyPromise(shown, under, KINDS, judge, function=by or wanted.where)


@short_trace
@with_meaning
def never_twice(
    key: By, *, of: Mapping[str, Any], name: str | None = None, under: Under | None = None
) -> Promise:
    """Promise that each record of a sort is there once, by a key: `never_twice(number_of, of={"kind": "call"})`.

    key: gets a record, and returns what identifies it, or None for one that does not count. of: conditions of the
    records, those of `never`. That each comes at all is for `within`. name: of the promise; under: kinds of faults
    under which it must hold, by default all.
    """
    wanted, shown = _filter("never_twice: of", of), _name("never_twice", key, name, "record")
    return ReadyPromise(shown, under, KINDS, partial(_judge_twice, wanted=wanted, key=key), function=key)


class _Following:
    """Looks for what has to follow records. wanted: their filter; seconds: of the promise."""

    def __init__(
        self, wanted: JournalFilter, check: Callable[[Lab, Entry], object], seconds: float, lab: Lab
    ) -> None:
        self._wanted, self._check, self._seconds = wanted, check, seconds
        self._observer = LabObserver(lab)
        self._next = self._observer.last_record + 1
        self._unended: list[int] = []  # records whose status may come yet
        self._pending: dict[int, Entry] = {}
        self._is_tested = False

    def __call__(self, lab: Lab) -> Mapping[Hashable, Wrong] | None:
        looks = self._observer.looks()
        for each in self._observer.read(self._new):
            if not any(each.sequence in made for made in looks):
                self._pending[each.sequence] = each
                self._is_tested = True
        wrong: dict[Hashable, Wrong] = {}
        for number, each in list(self._pending.items()):
            state, reason = outcome_of(partial(self._checked, each), lab, self._check)
            if state == "failed":
                raise CheckFailedError(reason)
            if state == "kept":
                del self._pending[number]
                continue
            text = one_line(
                f"{record_line(each)}: not followed within {self._seconds:g} s: {reason}", LONGEST_REASON
            )
            wrong[number] = Wrong(each.time / SECOND, text, number)
        self._next = self._observer.last_record + 1  # not the records of this look
        return wrong if self._is_tested else None

    def _checked(self, record: Entry, lab: Lab) -> object:
        return self._check(lab, record)

    def _new(self, journal: Journal) -> list[Entry]:
        """Return the records that match for the first time."""
        found, unended = [], []
        for number in (*self._unended, *range(self._next, journal.last + 1)):
            record = journal.find(number)
            if record is None:
                raise CheckFailedError(
                    "the journal lacks records, so that nobody can judge what followed them"
                )
            if not self._wanted.is_near(record):
                continue
            if self._wanted.matches(record):
                found.append(entry(record))
            elif record.status is None and self._wanted.status is not None:
                unended.append(number)
        self._unended, self._next = unended, journal.last + 1
        return found


def _copies(copies: Callable[[Lab], Mapping[Any, float]], lab: Lab) -> Look:
    """Return looks at the ages of copies."""

    def look(lab: Lab) -> Mapping[Hashable, Wrong] | None:
        now, found = lab.clock.time, copies(lab)
        old: dict[Hashable, Wrong] = {
            (name, when): Wrong(when, f"{name} is {now - when:g} s old") for name, when in found.items()
        }
        return old or None

    return look


def _total(total: Callable[[Lab], Number], lab: Lab) -> Look:
    """Return looks at a total. Another wrong total is another mistake: it may be that of other work under way."""
    first: Number = None
    wrong: tuple[Number, float] = None, 0.0

    def look(lab: Lab) -> Mapping[Hashable, Wrong] | None:
        nonlocal first, wrong
        found, now = total(lab), lab.clock.time
        if found is None or first is None:
            first = found if first is None else first
            return None
        if math.isclose(found, first):
            wrong = None, 0.0
            return {}
        wrong = wrong if found == wrong[0] else (found, now)
        return {wrong: Wrong(wrong[1], f"the total is {found:g}, and was {first:g} at first")}

    return look


def _growing(value: Callable[[Lab], Number | Mapping[Any, float]], lab: Lab) -> Look:
    """Return looks at numbers that never fall."""
    last: dict[Any, tuple[float, float]] = {}  # by name: number and lab time

    def look(lab: Lab) -> Mapping[Hashable, Wrong] | None:
        found, now = value(lab), lab.clock.time
        numbers = found if isinstance(found, Mapping) else {} if found is None else {"": found}
        before = {name: last[name] for name in numbers if name in last}
        last.update({name: (number, now) for name, number in numbers.items()})
        wrong: dict[Hashable, Wrong] = {
            (name, now): Wrong(
                min(when, now - TINY), f"{name} fell from {high:g} to {numbers[name]:g}".strip()
            )
            for name, (high, when) in before.items()
            if numbers[name] < high
        }
        return wrong if before else None

    return look


def _judge_rate(evidence: Evidence, wanted: JournalFilter, most: int, per: float, by: By | None) -> Finding:
    """Judge whether no key has more than `most` records in any period of `per` seconds."""
    recent: dict[Hashable, deque[int]] = defaultdict(deque)
    for record in _matching(evidence.journal, wanted):
        key = None if by is None else by(entry(record))
        times = recent[key]
        times.append(record.time)
        while times[0] <= record.time - int(per * SECOND):
            times.popleft()
        if len(times) > most:
            whose = "" if by is None else f" of {key}"
            return finding_of(
                record, f"{len(times)} records{whose} within {per:g} s; at most {most} are allowed"
            )
    return Finding("kept" if recent else "untested")


def _judge_twice(evidence: Evidence, wanted: JournalFilter, key: By) -> Finding:
    """Judge whether no two records have one key."""
    seen: set[Hashable] = set()
    for record in _matching(evidence.journal, wanted):
        found = key(entry(record))
        if found in seen:
            text = one_line(f"{found!r} is there twice: {record_line(record)}", LONGEST_REASON)
            return finding_of(record, text)
        if found is not None:
            seen.add(found)
    return Finding("kept" if seen else "untested")


def _matching(journal: Journal, wanted: JournalFilter) -> Iterable[Record]:
    return (
        each for each in journal.iterate(wanted.only_kind) if wanted.is_near(each) and wanted.matches(each)
    )


def _filter(what: str, given: object) -> JournalFilter:
    """Return the filter of a mapping of conditions. Raises LabError for other conditions."""
    if not isinstance(given, Mapping):
        raise LabError(f"{what}: expected conditions such as {{'kind': 'event'}}, not {given!r:.100}")
    for each in given:
        if each not in CONDITIONS:
            raise LabError(f"{what}: {unknown('condition', each, CONDITIONS)}")
    found: Any = {each: given.get(each) for each in CONDITIONS}
    return JournalFilter.of(**found, what=what)


def _name(kind: str, function: object, name: str | None, *arguments: str) -> str:
    """Return the name of a promise. Raises LabError unless the function takes these arguments, by default the lab."""
    arguments = arguments or ("lab",)
    if not callable(function):
        raise LabError(
            f"{kind}: expected a function of the {' and the '.join(arguments)}, not {function!r:.100}"
        )
    own = getattr(function, "__name__", type(function).__name__)
    expect_argument(f"{kind}: {own}", function, *arguments)
    return f"{kind} {own}" if name is None else name
