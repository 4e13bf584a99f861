"""Promises about anything that a function can see of a lab: `always`, `eventually`, and `never` about its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from labkit.core.code_lines import defined_at, raised_at, with_line
from labkit.core.errors import LabError
from labkit.core.handle import short_trace
from labkit.core.journal import Journal
from labkit.core.record_lines import one_line, record_line
from labkit.hunt.draw import is_end
from labkit.hunt.kinds import Under
from labkit.hunt.promises.filters import JournalFilter, Texts, Where, expect_argument
from labkit.hunt.promises.names import absent_name
from labkit.hunt.promises.promise import Promise, State, StoryEnd, Verdict, Watch, checked_seconds
from labkit.hunt.promises.reading import Finding, ReadingWatch, finding_of
from labkit.lab.lab import Lab
from labkit.lab.observer import LabObserver

Check = Callable[[Lab], object]
LONGEST_REASON = 500  # characters
STEPS = 20  # looks of `eventually`


@short_trace
def always(
    check: Check, every: float = 60, *, name: str | None = None, under: Under | None = None
) -> Promise:
    """Promise that a check holds all the time: `always(stock_is_not_negative, every=30)`.

    check: gets the lab, and returns True or None if the promise is kept, False or a text if it is broken; an
    AssertionError means broken, too, and any other error that the check itself has failed. every: seconds of lab time
    from look to look, from the beginning of the story to its end, where it looks once more. name: of the promise,
    by default that of the check. under: kinds of faults under which it must hold, or groups of them, by default all.

    The check sees a lab in which everything earlier has happened. Its looks add nothing to the journal and change no
    order. Service calls and requests of a check are allowed: they are in the journal, and plays of a seed are equal
    nevertheless. No fault hits its service calls; requests are those of a client like any other.
    """
    return Always(check, checked_seconds(every, "always: every"), name, under)


@short_trace
def eventually(
    check: Check, within: float = 600, *, name: str | None = None, under: Under | None = None
) -> Promise:
    """Promise that a check holds once all is over: `eventually(all_are_online, within=300)`.

    check: as of `always`. It is called at the end of the story, and while it does not hold, again and again, until
    `within` seconds of lab time after the end of the story, or of the last fault if that is later. Fleets that still
    run, and calls at work, go on meanwhile. name, under: as of `always`.
    """
    return Eventually(check, checked_seconds(within, "eventually: within", zero=True), name, under)


@short_trace
def never(
    *,
    kind: str | Iterable[str] | None = None,
    actor: Texts | None = None,
    product: Texts | None = None,
    identity: Texts | None = None,
    summary: Texts | None = None,
    status: int | str | Iterable[int | str] | None = None,
    where: Where | None = None,
    name: str | None = None,
    under: Under | None = None,
) -> Promise:
    """Promise that the journal has no such record: `never(kind="request", status="5xx")`.

    kind, actor, summary: as in the journal; product, identity: of the device that the record is about. All texts but
    kinds are patterns with `*`; several of them mean any of these. status: a number, `5xx`, or several of both.
    where: a function of the record that says whether it counts. A promise needs at least one of these. name: of the
    promise, by default what it looks for. under: as of `always`.

    With summary, status or `where`, it is untested where the journal has no record that meets all other conditions. It
    is untested, with a warning, where the lab has no such operation, event, product or device, as after a misspelling.
    Raises LabError for no condition at all or a wrong one.
    """
    return Never(JournalFilter.of(kind, actor, product, identity, summary, status, where), name, under)


class Always(Promise):
    """Promise that a check holds all the time. every: seconds of lab time from look to look."""

    def __init__(self, check: Check, every: float, name: str | None, under: Under | None) -> None:
        self._take(_name_of("always", check, name), under)
        self.check = self.function = check
        self.every = every

    def watch(self, lab: Lab) -> Watch:
        return AlwaysWatch(self, lab)


class CheckFailedError(LabError):
    """A check that a promise calls has failed itself."""


class CheckRunner:
    """Runner of the check of one promise at a lab, whose records tell nothing about the story.

    check: as of `always`; function: of the user, which it calls, if that is another one.
    """

    def __init__(self, check: Check, lab: Lab, function: Callable[..., object] | None = None) -> None:
        self._check = check
        self._function = function or check
        self._lab = lab
        self._observer = LabObserver(lab)
        self._before = self._observer.last_record
        self._records = 0
        self.newest: int | None = None  # number of the newest record after the last look

    def look(self) -> tuple[State, str]:
        """Call the check, and return what it means and why."""
        first = self._observer.last_record
        found = outcome_of(self._check, self._lab, self._function)
        last = self._observer.last_record
        self.newest = last or None
        if last > first:
            self._observer.looks().append(range(first + 1, last + 1))
            self._records += last - first
        return found

    @property
    def saw_something(self) -> bool:
        """Whether anything else has happened since the beginning."""
        return self._observer.last_record - self._before > self._records


class AlwaysWatch:
    """Looks at a lab again and again, until a check does not hold."""

    def __init__(self, promise: Always, lab: Lab) -> None:
        self._promise = promise
        self._observer = LabObserver(lab)
        self._looks = CheckRunner(promise.check, lab)
        self._found: Verdict | None = None
        self._over = False
        self._observer.look(promise.every, self._look)

    def verdict(self, end: StoryEnd) -> Verdict:
        if self._found is None:
            self._check()
        self._over = True
        return self._found or _kept(self._promise, self._looks)

    def _look(self) -> bool:
        if self._over:
            return False
        self._check()
        return self._found is None

    def _check(self) -> None:
        when = self._observer.now
        state, reason = self._looks.look()
        if state != "kept":
            self._found = Verdict(self._promise.name, state, reason, when, self._looks.newest)


class Eventually(Promise):
    """Promise that a check holds in the end. within: seconds of lab time after story and faults."""

    def __init__(self, check: Check, within: float, name: str | None, under: Under | None) -> None:
        self._take(_name_of("eventually", check, name), under)
        self.check = self.function = check
        self.within = within

    def watch(self, lab: Lab) -> Watch:
        return EventuallyWatch(self, lab)


class EventuallyWatch:
    """Looks at a lab after the story, until a check holds."""

    def __init__(self, promise: Eventually, lab: Lab) -> None:
        self._promise = promise
        self._lab = lab
        self._observer = LabObserver(lab)
        self._looks = CheckRunner(promise.check, lab)

    def verdict(self, end: StoryEnd) -> Verdict:
        promise, began = self._promise, self._observer.now
        since, last = "end of the story", end.at
        if end.quiet_since is not None:
            since += ", which was later than that of the last fault"
            if end.quiet_since >= end.at:
                since, last = "end of the last fault", end.quiet_since
        until = last + promise.within
        step = max((until - began) / STEPS, 1e-6)
        state, reason = self._looks.look()
        while state == "broken" and (left := until - self._observer.now) > 0:
            self._lab.wait(seconds=min(step, left))
            state, reason = self._looks.look()
        if state == "kept":
            return _kept(promise, self._looks)
        when = self._observer.now
        if state == "broken":
            reason = (
                f"expected within {promise.within:g} s after the {since}; "
                f"still broken at the last look, {when - last:g} s after it: {reason}"
            )
        return Verdict(promise.name, state, reason, when, self._looks.newest)


class Never(Promise):
    """Promise that the journal has no record that a filter matches."""

    def __init__(self, unwanted: JournalFilter, name: str | None, under: Under | None) -> None:
        self._take(f"never {unwanted}" if name is None else name, under)
        self._unwanted = unwanted
        self.function = unwanted.where

    def watch(self, lab: Lab) -> Watch:
        observer = LabObserver(lab)
        watch = ReadingWatch(
            self.name, observer, lambda seen: self._judge(seen.journal), function=self.function
        )
        return NeverWatch(watch, self._unwanted, lab)

    def _judge(self, journal: Journal) -> Finding:
        unwanted = self._unwanted
        tested = unwanted.is_near_only and len(journal) > 0
        for record in journal.iterate(unwanted.only_kind):
            if unwanted.is_near(record):
                tested = True
                if unwanted.matches(record):
                    return finding_of(record, one_line(record_line(record), LONGEST_REASON))
        return Finding("kept" if tested else "untested")


class NeverWatch:
    """Watch over records that never come, which tests nothing if the filter has a name that the lab never had."""

    def __init__(self, watch: Watch, unwanted: JournalFilter, lab: Lab) -> None:
        self._watch = watch
        self._unwanted = unwanted
        self._lab = lab

    def verdict(self, end: StoryEnd) -> Verdict:
        found = self._watch.verdict(end)
        if found.state in ("kept", "untested") and (absent := absent_name(self._lab, self._unwanted)):
            return Verdict(found.promise, "untested", absent)
        return found


def outcome_of(check: Check, lab: Lab, function: Callable[..., object] | None = None) -> tuple[State, str]:
    """Call a check, and return its state and the reason. function: of the user, whose line an error names."""
    function = function or check
    try:
        result = check(lab)
    except AssertionError as error:
        said, *_ = str(error).strip().splitlines() or [
            "its assertion does not hold"
        ]  # pytest adds lines of its own
        return "broken", one_line(said, LONGEST_REASON)
    except CheckFailedError as error:
        return "failed", str(error)
    except Exception as error:
        if is_end(error):
            raise
        place, _ = raised_at(function, error)
        text = one_line(f"its check raised {type(error).__name__}: {error}", LONGEST_REASON)
        return "failed", with_line(text, place)
    if isinstance(result, str):
        return "broken", one_line(result, LONGEST_REASON) or "its check returned an empty text"
    if result is None or type(result).__name__ in ("bool", "bool_"):  # also those of numpy
        return ("kept", "") if result is None or bool(result) else ("broken", "its check returned False")
    text = f"its check returned {result!r:.100}; expected True, None, False or a text"
    return "failed", with_line(text, defined_at(function))


def _name_of(kind: str, check: object, name: str | None) -> str:
    """Return the name of a promise. Raises LabError for a check that is no function of a lab alone, or async."""
    if not callable(check):
        raise LabError(f"{kind}: expected a function of the lab, not {check!r:.100}")
    own = getattr(check, "__name__", type(check).__name__)
    expect_argument(f"{kind}: {own}", check, "lab")
    return f"{kind} {own}" if name is None else name


def _kept(promise: Promise, looks: CheckRunner) -> Verdict:
    return Verdict(promise.name, "kept" if looks.saw_something else "untested")
