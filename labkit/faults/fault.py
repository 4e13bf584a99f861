"""A fault at run time: its compiled settings and its counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from labkit.faults.fields import Changes, path_of, values_at
from labkit.faults.patterns import Pattern, Patterns
from labkit.settings import FaultSettings
from labkit.settings.edits import as_text

NOT = "!"
Values = Callable[[str], Iterable[object]]


class Conditions:
    """Patterns by path: a value at the path must match, or with `!` before the pattern none may."""

    def __init__(self, patterns: Mapping[str, str] | None) -> None:
        self._patterns = [
            (path, Pattern(text.removeprefix(NOT)), not text.startswith(NOT))
            for path, text in (patterns or {}).items()
        ]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def __iter__(self) -> Iterator[str]:
        return iter(path for path, _, _ in self._patterns)

    def are_met(self, values: Values) -> bool:
        """Return whether all conditions are met. values: returns all values at a path."""
        return all(
            any(pattern.matches(as_text(each)) for each in values(path)) is wanted
            for path, pattern, wanted in self._patterns
        )

    def are_met_by(self, data: object) -> bool:
        """Return whether all conditions are met by plain data."""
        return not self._patterns or self.are_met(lambda path: values_at(data, path_of(path)))


Draw = Callable[[str, str], float]  # name of a fault and actor → a number from 0 to 1, the actor's next draw
Origin = Literal["settings", "hand"]
State = Literal["waiting", "active", "ended"]


class ActiveFault:
    """One fault.

    state: waiting until its period begins, ended once that is over or it has hit as often as its `first` allows; seen:
    number of operations that it could have hit; hits: number that it hit.
    """

    def __init__(self, name: str, settings: FaultSettings, origin: Origin, draw: Draw) -> None:
        self.name = name
        self.settings = settings
        self.origin = origin
        self.place = settings.place
        self.phase = settings.phase
        self.changes = Changes(settings.drop, settings.replace, settings.put, settings.edit)
        self.if_given = Conditions(settings.if_given)
        self.if_answer = Conditions(settings.if_answer)
        self.state: State = "active" if settings.after is None else "waiting"
        self.seen = 0
        self.hits = 0
        self._draw = draw
        self._first = Pattern(self.place.first)
        self._second = Pattern(self.place.second)
        self._site = Patterns(settings.site)
        self._product = Patterns(settings.product)
        self._identity = Patterns(settings.identity)
        self._solution = Patterns(settings.solution)

    def is_at(self, first: str, *second: str) -> bool:
        """Return whether the fault applies at a place. second: all names that the place has."""
        return self._first.matches(first) and any(map(self._second.matches, second))

    def is_for(
        self,
        *,
        site: str | None = None,
        product: str | None = None,
        identity: str | None = None,
        solution: str | None = None,
    ) -> bool:
        """Return whether the fault applies to these; None: not known."""
        return (
            self._site.match(site)
            and self._product.match(product)
            and self._identity.match(identity)
            and self._solution.match(solution)
        )

    def is_at_site(self, site: str, product: str | None, solution: str | None) -> bool:
        """Return whether the fault applies at this site, whichever device sends the request."""
        return self._site.match(site) and self._product.match(product) and self._solution.match(solution)

    @property
    def changes_given(self) -> bool:
        """Whether the fault changes the request or the parameters of a call."""
        return self.phase == "before" and bool(self.changes)

    def is_due(self, actor: str) -> bool:
        """Return whether the fault hits this time, and update its counters."""
        settings = self.settings
        if self.state != "active":
            return False
        self.seen += 1
        if settings.every is not None and self.seen % settings.every:
            return False
        if settings.chance is not None and self._draw(self.name, actor) >= settings.chance:
            return False
        self.hits += 1
        if self.hits == settings.first:
            self.state = "ended"
        return True

    def draw_delay(self, actor: str) -> float:
        """Return the delay of a hit in seconds; a range is drawn from a stream of its own, so that hits stay."""
        delay = self.settings.delay
        if not isinstance(delay, tuple):
            return delay or 0.0
        low, high = delay
        return low + (high - low) * self._draw(f"{self.name}\0delay", actor)

    @property
    def reason(self) -> str:
        """The text that the affected client or caller gets."""
        return self.name if self.name.startswith("fault ") else f"fault {self.name}"

    @property
    def cut_reason(self) -> str:
        """The reason in the journal for which a request got no answer, or not all of it: `fault 1: cut before`."""
        return f"{self.reason}: {self.does}"

    @property
    def title(self) -> str:
        """The name that the user gave, or else a description of the effect."""
        return self.does if self.name.startswith("fault ") else self.name

    @property
    def does(self) -> str:
        """Description of the effect: `503`, `cut after`, `delay 30 s`."""
        settings = self.settings
        words = [self._in_words(each) for each in settings.actions]
        if settings.when == "after" and (settings.status is not None or settings.restart):
            words.append("after the work")
        if settings.down is not None:
            words.append(self._in_words("down"))
        if self.changes_given:
            words.append("before the work")
        conditions = [each for each in ("if_given", "if_answer") if getattr(settings, each) is not None]
        return ", ".join([*words, *map(self._in_words, conditions)])

    def _in_words(self, name: str) -> str:
        """Return a key of the settings in words: `lost`, `delay 30 s`, `cut after`, `drop a, b`."""
        value = getattr(self.settings, name)
        if name == "does":
            return str(value)
        if name == "body":
            return "other body" if self.place.kind != "call" else "other result"
        if name == "delay":
            ends = value if isinstance(value, tuple) else (value,)
            return f"delay {' to '.join(f'{each:g}' for each in ends)} s"
        if value is True:
            return name
        if isinstance(value, float):
            return f"{name} {value:g} s"
        return f"{name} {', '.join(value) if isinstance(value, dict | tuple) else value}"

    @property
    def often(self) -> str:
        """Description of the frequency: `first 2`, `chance 0.1, first 3`, `after 60 s, for 10 s`, `always`."""
        settings = self.settings
        words = [
            f"{word} {value:g} s"
            for word, value in (("after", settings.after), ("for", settings.seconds))
            if value is not None
        ]
        words += [
            f"{name} {value:g}"
            for name, value in (
                ("chance", settings.chance),
                ("every", settings.every),
                ("first", settings.first),
            )
            if value is not None
        ]
        return ", ".join(words) or "always"

    @property
    def whom(self) -> str:
        """Description of the scope: `identity t-00*`; empty for all."""
        named = ((name, getattr(self.settings, name)) for name in ("site", "product", "identity", "solution"))
        words = [f"{name} {' or '.join(texts)}" for name, texts in named if texts is not None]
        return ", ".join([*words, "scripts"] if self.settings.scripts else words)
