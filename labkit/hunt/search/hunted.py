"""Result of a hunt: its plays, what they showed, and its failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.core.words import counted
from labkit.hunt.faults.menu import Menu
from labkit.hunt.plays.future import Played, PlayPlan
from labkit.hunt.plays.player import play_seed
from labkit.hunt.search.failure import HuntFailure
from labkit.hunt.search.past import PastFailure, StalePlay
from labkit.hunt.search.play_queue import DonePlay
from labkit.lab.show import card

if TYPE_CHECKING:
    import pandas

MAX_LOST = 5  # lost plays that a text names
COLUMNS = (
    *("play", "seed", "seconds", "records", "faults", "hits"),
    *("warnings", "new", "broke", "lost"),
)


@dataclass
class Hunt:
    """Result of a hunt.

    plan: of the plays; level: of their faults; done: the plays, in the order of their numbers; failures: by the name of
    the promise that broke; past: written plays that break again; stale: written plays that say nothing any more;
    is_begun: whether anything else was played; seconds: real time of the plays, without shrinking; workers: number of
    processes, 0 for this one; interrupted: whether Ctrl-C ended the hunt.
    """

    plan: PlayPlan
    level: str
    workers: int = 0
    done: list[DonePlay] = field(default_factory=list)
    failures: dict[str, HuntFailure] = field(default_factory=dict)
    past: list[PastFailure] = field(default_factory=list)
    stale: list[StalePlay] = field(default_factory=list)
    is_begun: bool = True
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def seeds(self) -> int:
        """Number of plays."""
        return len(self.done)

    @property
    def lost(self) -> list[DonePlay]:
        """Plays without an outcome, since their process died."""
        return [each for each in self.done if each.row is None and not each.late]

    @property
    def late(self) -> list[DonePlay]:
        """Plays that the limit of real time has ended, which says more of the machine than of the story."""
        return [each for each in self.done if each.late]

    @property
    def good(self) -> bool:
        """Whether nothing failed, no play was lost, and each written play still says something."""
        is_stale = any(not each.late for each in self.stale)
        return not (self.failures or self.past or is_stale or self.lost)

    @property
    def per_second(self) -> float:
        """Plays a second of real time, over all workers."""
        return self.seeds / self.seconds if self.seconds else 0.0

    @property
    def faults(self) -> Counter[str]:
        """Number of drawn faults by kind."""
        return Counter(kind for each in self.done if each.row is not None for kind in each.row.faults)

    @property
    def warnings(self) -> Counter[str]:
        """Number of plays by what does not do as meant in them, a sentence.

        Such as a misspelt call of a handler; and, where nothing broke, a handler or a fleet that ran in no play, or a
        handler that always failed.
        """
        rows = [each.row for each in self.done if each.row is not None]
        found = Counter(text for each in rows for text in each.warnings)
        found += Counter(text for each in self.past for text in each.outcome.played.warnings)
        if self.failures or self.past:
            return found
        seen = {(name, state) for each in rows for name, state in each.parts.items()}
        idle = {
            name: "failed in all its runs" if (name, "failed") in seen else "ran in no play"
            for name, _ in sorted(seen)
            if (name, "ran") not in seen
        }
        return found + Counter(f"{name} {idle[name]}" for each in rows for name in each.parts if name in idle)

    @property
    def promises(self) -> dict[str, Counter[str]]:
        """Number of plays by the state of each promise; `not judged` for those with faults that it does not bear."""
        states: dict[str, Counter[str]] = {each.name: Counter() for each in self.plan.story.promises}
        for each in self.done:
            if each.row is not None:
                for name, counter in states.items():
                    counter[each.row.verdicts.get(name, "not judged")] += 1
        return states

    @property
    def untested(self) -> list[str]:
        """Promises that no play put to the test."""
        return [
            name
            for name, counter in self.promises.items()
            if not (counter["kept"] or counter["broken"] or counter["failed"])
        ]

    @property
    def reservations(self) -> list[str]:
        """Reservations about what was tried, as phrases: promises never tested, plays ended early, warnings."""
        count, untested = len(self.warnings), self.untested if self.done else []
        found = []
        if untested and len(untested) == len(self.promises):
            found.append("no promise was put to the test")
        elif untested:
            found.append(f"{len(untested)} of {len(self.promises)} promises were never put to the test")
        if self.late:
            found.append(f"{counted(len(self.late), 'play')} ended by a limit of this machine")
        return [*found, f"see {'the warning' if count == 1 else f'the {count} warnings'}"] if count else found

    def play(self, number: int) -> Played:
        """Play a play of the hunt again, and return it. number: as in the column `play` of `frame()`.

        Raises LabError for a number without a play.
        """
        found = next((each for each in self.done if each.number == number), None)
        if found is None:
            raise LabError(f"the hunt has no play {number!r}")
        played = play_seed(self.plan, number)
        if played is None:
            raise LabError(f"the values of play {number} are no future of the story")
        return played

    def frame(self) -> pandas.DataFrame:
        """Return a frame with one row per play.

        play: its number; seed: of its lab; seconds: real; records: in the journal; faults: drawn; hits: of faults;
        warnings: number of them; new: things that it was the first to show; broke: names of the promises; lost: why
        there is no outcome; a column with the state of each promise.
        """
        with needs("tables"):
            import pandas

        names = [each.name for each in self.plan.story.promises]
        rows = [_row(each, names) for each in self.done]
        frame = pandas.DataFrame(rows, columns=[*COLUMNS, *names]).set_index("play")
        whole = ("records", "faults", "hits", "warnings")
        return frame.astype(dict.fromkeys(whole, "Int64"))

    def chart(self) -> pandas.DataFrame:
        """Draw and return the number of new things over the plays: flat once more plays bring nothing."""
        from labkit.hunt.search.chart import novelty_chart

        return novelty_chart(self.frame())

    def as_dict(self) -> dict[str, Any]:
        """Return the result as data for JSON."""
        return {
            "story": self.plan.story.name,
            "level": self.level,
            "plays": self.seeds,
            "seconds": round(self.seconds, 3),
            "workers": self.workers,
            "interrupted": self.interrupted,
            "faults": dict(self.faults),
            "promises": {name: dict(states) for name, states in self.promises.items()},
            "untested": self.untested,
            "warnings": dict(self.warnings),
            "new": sum(each.new for each in self.done),
            "lost": [{"play": each.number, "why": each.lost} for each in self.lost],
            "late": [each.number for each in self.late],
            "begun": self.is_begun,
            "past": [{"file": str(each.file), **each.outcome.as_dict()} for each in self.past],
            "stale": [{"file": str(each.file), "why": each.reason} for each in self.stale],
            "failures": [failure_data(each) for each in self.failures.values()],
        }

    def text(self) -> str:
        """Return the result as lines of text."""
        lines = [*self.facts(), *self.failure_lines()]
        if not (self.failures or self.past or self.lost):
            nothing = "nothing else broke" if self.stale else "nothing broke"
            but = ", and ".join(self.reservations)
            lines.append(f"{nothing}, but {but}" if but else nothing)
        return "\n".join(lines)

    def failure_lines(self) -> list[str]:
        """Return what failed as lines of text, none if nothing did."""
        lines = [f"lost play {each.number}: {each.lost}" for each in self.lost[:MAX_LOST]]
        if len(self.lost) > MAX_LOST:
            lines.append(f"and {len(self.lost) - MAX_LOST} more lost plays")
        for past in self.past:
            lines += [f"past failure: {past}", "  mend what it tests, or delete the file if that may break"]
        lines += [f"past failure: {each}" for each in self.stale]
        for each in self.failures.values():
            first, *others = each.lines()
            lines += [f"broken: {first}", *others]
        return lines

    def facts(self) -> list[str]:
        """Return what was played as lines of text."""
        lines = [f"hunt of {self.plan.story.name}: {self._summary()}"]
        if self.faults:
            lines.append(f"faults drawn: {_counts(self.faults)}")
        lines += [f"promise {name}: {_counts(states)}" for name, states in self.promises.items() if states]
        lines += [f"never put to the test: {name}" for name in self.untested if self.done]
        if self.late:
            which = ", ".join(str(each.number) for each in self.late[:MAX_LOST])
            more = f" and {len(self.late) - MAX_LOST} more" if len(self.late) > MAX_LOST else ""
            lines.append(
                f"ended by this machine's limit of real time, which says nothing about the story: play {which}{more}, "
                f"{self.late[0].lost}"
            )
        return lines + [
            f"warning: {text} (in {counted(count, 'play')})" for text, count in self.warnings.items()
        ]

    def _summary(self) -> str:
        if not self.is_begun:
            count = len(self.past)
            return f"not begun, since {f'{count} past failures break' if count > 1 else 'a past failure breaks'} again"
        where = f", {self.workers} processes" if self.workers else ""
        news = [each.number for each in self.done if each.new]
        speed = f"{self.seconds:.1f} s, {self.per_second:.1f} a second"
        level = self.plan.faults if isinstance(self.plan.faults, Menu) else self.level
        text = f"{counted(self.seeds, 'play')} in {speed}{where}; level {level}"
        if news:
            text += f"; the last new thing in play {news[-1]}"
        if dropped := sum(each.row is not None and not each.row.is_future for each in self.done):
            text += f"; {dropped} were no future of the story"
        return text + ("; interrupted" if self.interrupted else "")

    def __repr__(self) -> str:
        return (
            f"<hunt of {self.plan.story.name}: {self._summary()}, {counted(len(self.failures), 'failure')}>"
        )

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {"plays": self._summary()}
        if self.faults:
            facts["faults drawn"] = _counts(self.faults)
        facts |= {name: _counts(states) for name, states in self.promises.items()}
        if self.untested:
            facts["never put to the test"] = ", ".join(self.untested)
        if self.late:
            facts["ended by this machine's limit"] = counted(len(self.late), "play")
        if self.lost:
            facts["lost plays"] = len(self.lost)
        facts |= {f"warning {number}": text for number, text in enumerate(self.warnings, 1)}
        parts = [card(f"hunt of {self.plan.story.name}", facts)]
        parts += [f"<p>{escape(f'past failure: {each}')}</p>" for each in (*self.past, *self.stale)]
        parts += [each._repr_html_() for each in self.failures.values()]
        return "".join(parts)


def _row(done: DonePlay, names: Sequence[str]) -> list[object]:
    beginning = [done.number, done.number]
    row = done.row
    if row is None:
        return [*beginning, None, None, None, None, None, 0, None, done.lost, *(None for _ in names)]
    broke = ", ".join(each.title for each in row.breaches) or None
    states = [row.verdicts.get(name, "not judged") for name in names]
    counts = [row.records, len(row.faults), row.hits, len(row.warnings)]
    return [*beginning, row.seconds, *counts, done.new, broke, None, *states]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda each: -each[1]))


def failure_data(failure: HuntFailure) -> dict[str, Any]:
    """Return a failure as data for JSON."""
    found = failure.smallest
    data: dict[str, Any] = {
        "promise": failure.breach.promise,
        "title": failure.title,
        "reason": failure.breach.reason,
        "plays": list(failure.numbers),
        "calm": failure.in_calm,
    }
    if found is not None:
        data["smallest"] = {
            "reason": found.breach.reason,
            "seed": found.played.seed,
            "faults": [{"kind": each.kind, **each.settings} for each in found.played.faults],
            "values": [[label, repr(value)] for label, value in found.played.drawn],
            "limits": found.played.limits.data,
            "plays": found.plays,
            "complete": found.is_complete,
        }
    return data
