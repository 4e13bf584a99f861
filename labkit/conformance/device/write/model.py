"""Reference model of device values: stored datapoints, read values, and the datapoint that answers each poll.

Written from the document and the requirements alone. Times are exact: fractions of seconds since 1970.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction

RESOURCES = ("text", "Text", "number", "flag", "level", "mode")
AHEAD = 60  # seconds that a recorded point may be ahead
ANSWERS = 5  # answers to polls from a value's own second, after which it counts as seen

Pairs = Sequence[tuple[str, str]]
Group = tuple[str, Sequence[tuple[str, str]]]  # alias, then timestamps as they are sent, with values


@dataclass(slots=True)
class Point:
    """A datapoint.

    received, order: the second of its receipt, and its rank; seen: the rule by which its value counts as seen by
    polling clients, or empty; named: number of polls from its own second that it answered; stored: whether its alias
    was written since it was seen, so that a restart keeps this.
    """

    value: str
    received: int
    order: int
    recorded: bool
    seen: str = ""
    named: int = 0
    stored: bool = False


@dataclass(slots=True)
class Answer:
    """The expected answer to a poll. stamp: None for 304; rule: the one that demands it."""

    stamp: int | None
    value: str
    rule: str


@dataclass(slots=True)
class Poll:
    """A poll.

    since: the time after which datapoints answer; live: whether the request named none; deadline: time of the 304;
    connection: its number; last: the order of the value of second `since` that the connection received last.
    """

    alias: str
    since: int
    live: bool
    deadline: Fraction
    connection: int
    last: int | None = None
    answer: Answer | None = None
    either: bool = False  # a point came due exactly at the deadline: 304 is right too


@dataclass(slots=True)
class Device:
    """The state of one device."""

    points: dict[str, dict[int, Point]] = field(default_factory=dict)
    polls: dict[int, Poll] = field(default_factory=dict)  # unanswered ones, by number
    orders: int = 0
    given: dict[tuple[int, str], tuple[int, int]] = field(
        default_factory=dict
    )  # connection, alias → second, order
    unconfirmed: dict[int, list[tuple[str, int, int]]] = field(default_factory=dict)  # by connection

    def copy(self) -> Device:
        """Return an independent copy of the state."""
        return deepcopy(self)

    def restarted(self) -> list[Device]:
        """Return the possible states after an abrupt restart: all connections have ended, and of the values seen all,
        none, or those that were stored with a later write of their alias still count as seen.
        """
        copies = [self.copy() for _ in range(3)]
        for copy, kept in zip(copies, ("all", "none", "stored"), strict=True):
            copy.given.clear()
            copy.unconfirmed.clear()
            for point in (point for held in copy.points.values() for point in held.values()):
                point.named = 0
                if kept == "none" or (kept == "stored" and not point.stored):
                    point.seen = ""
        return copies

    # ---- values

    def current(self, alias: str) -> tuple[str, bool] | None:
        """Return the value of an alias that is read, and whether it was recorded; None if there is none."""
        stored = self.points.get(alias)
        if not stored:
            return None
        newest = max(stored.items(), key=lambda item: (min(item[0], item[1].received), item[1].order))
        return newest[1].value, newest[1].recorded

    def read(self, aliases: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs of the aliases that have a value, each alias once, in order."""
        found = [(alias, self.current(alias)) for alias in dict.fromkeys(aliases)]
        return [(alias, held[0]) for alias, held in found if held is not None]

    def write(self, pairs: Pairs, now: Fraction, *, taken: bool = False) -> int:
        """Store pairs at a time; return the status. taken: the target stored them, against the rules."""
        if not taken and (not pairs or any(not fits(alias, value) for alias, value in pairs)):
            return 400
        second = math.floor(now)
        stored = [(alias, second, value) for alias, value in dict(pairs).items() if alias in RESOURCES]
        self._store(stored, second, recorded=False)
        for alias, _, value in stored:
            for poll in (waiting := self._waiting(alias)):
                if poll.live or poll.since <= second:
                    rule = "DEV-POLL-23" if len(waiting) > 1 else "DEV-POLL-1"
                    rule = "DEV-POLL-21" if poll.since == second and not poll.live else rule
                    poll.answer = Answer(second, value, rule)
        return 204

    def record(
        self, groups: Sequence[Group], now: Fraction, *, taken: bool = False
    ) -> tuple[int, list[tuple[str, int]]]:
        """Store points; return the status, and for 409 the aliases with the first timestamp of their clash.

        taken: the target stored them, against the rules.
        """
        points: dict[str, list[tuple[Fraction, str]]] = {}
        for alias, pairs in groups:
            given = points.setdefault(alias, [])
            given += [
                (Fraction(stamp) + (now if stamp.startswith("-") else 0), value) for stamp, value in pairs
            ]
        clashes = [
            (alias, stamp) for alias, given in points.items() if (stamp := first_clash(given)) is not None
        ]
        wrong = any(not pairs for _, pairs in groups) or any(
            moment > now + AHEAD or not fits(alias, value)
            for alias, given in points.items()
            if alias in RESOURCES
            for moment, value in given
        )
        if wrong and not taken:
            return 400, clashes
        if clashes and not taken:
            return 409, clashes
        second = math.floor(now)
        stored = [
            (alias, math.floor(moment), value)
            for alias, given in points.items()
            if alias in RESOURCES
            for moment, value in given
        ]
        self._store(stored, second, recorded=True)
        for alias in points:
            for poll in self._waiting(alias):
                self._look(poll, now, "DEV-POLL-19")
        return 204, []

    def _store(self, points: Sequence[tuple[str, int, str]], received: int, *, recorded: bool) -> None:
        for alias, stamp, value in points:
            for point in self.points.get(alias, {}).values():
                point.stored = bool(point.seen)
            self.orders += 1
            self.points.setdefault(alias, {})[stamp] = Point(value, received, self.orders, recorded)

    # ---- polls

    def poll(
        self, number: int, alias: str, since: int | None, timeout: Fraction, now: Fraction, connection: int
    ) -> Poll:
        """Add a poll on a connection; it is answered at once, or stays pending."""
        start = math.floor(now) if since is None else since
        poll = Poll(alias, start, since is None, now + timeout, connection)
        second, order = self.given.get((connection, alias), (None, None))
        if second == start:
            poll.last = order
        self.polls[number] = poll
        if not poll.live:
            self._look(poll, now, "DEV-POLL-7")
        if poll.answer is None and timeout == 0:
            poll.answer = Answer(None, "", "DEV-POLL-14")
        return poll

    def advance(self, before: Fraction, now: Fraction) -> None:
        """Let time pass from `before` to `now`: points recorded ahead come due, and polls run out, each at its own
        time.
        """
        due = sorted({stamp for held in self.points.values() for stamp in held if before < stamp <= now})
        for second in due:
            for poll in self.polls.values():
                if poll.answer is None and poll.deadline >= second:
                    self._look(poll, Fraction(second), "DEV-POLL-24")
                    poll.either = poll.deadline == second
        for poll in self.polls.values():
            if poll.answer is None and poll.deadline <= now:
                poll.answer = Answer(None, "", "DEV-POLL-5")

    def _look(self, poll: Poll, now: Fraction, rule: str) -> None:
        """Answer a poll with the earliest point so far that is later than `since`, or at `since` and new to its
        client.
        """
        held = self.points.get(poll.alias, {})
        for stamp in sorted(held):
            late = stamp > poll.since
            same = stamp == poll.since and not poll.live and self._is_new(poll, held[stamp])
            if stamp <= now and (late or same):
                if same and rule == "DEV-POLL-7":
                    rule = "DEV-POLL-22" if poll.last is None else "DEV-POLL-27"
                    rule = "DEV-POLL-28" if poll.last is None and held[stamp].named else rule
                several = sum(poll.since < each <= now for each in held) > 1
                rule = "DEV-POLL-11" if several and late and rule == "DEV-POLL-7" else rule
                poll.answer = Answer(stamp, held[stamp].value, rule)
                return

    def _is_new(self, poll: Poll, point: Point) -> bool:
        return not point.seen if poll.last is None else point.order > poll.last

    def _waiting(self, alias: str) -> list[Poll]:
        return [each for each in self.polls.values() if each.alias == alias and each.answer is None]

    def record_answer(self, number: int, answer: tuple[str, str] | str) -> None:
        """Remove a poll that got this answer: timestamp and value, which its connection then has, or anything else."""
        poll = self.polls.pop(number)
        if not isinstance(answer, tuple) or not answer[0].isdecimal():
            return
        stamp = int(answer[0])
        held = self.points.get(poll.alias, {}).get(stamp)
        if held is None or held.value != answer[1]:
            return
        self.given[poll.connection, poll.alias] = stamp, held.order
        if poll.live or poll.since != stamp:
            held.seen = held.seen or "DEV-POLL-29"
            return
        self.unconfirmed.setdefault(poll.connection, []).append((poll.alias, stamp, held.order))
        held.named += 1
        if held.named >= ANSWERS:
            held.seen = held.seen or "DEV-POLL-32"

    def confirm(self, connection: int) -> None:
        """Count a connection's answers as received: it sent a further request, or its client ended it in order."""
        for alias, stamp, order in self.unconfirmed.pop(connection, []):
            held = self.points.get(alias, {}).get(stamp)
            if held is not None and held.order == order:
                held.seen = held.seen or "DEV-POLL-30"

    def forget(self, connection: int) -> None:
        """Remove the state of a connection that has ended."""
        self.unconfirmed.pop(connection, None)
        for key in [key for key in self.given if key[0] == connection]:
            del self.given[key]


def expected_outcome(poll: Poll) -> tuple[str, str] | str:
    """Return the model's answer to a poll, in the form of `wire.outcome`."""
    assert poll.answer is not None
    return "304" if poll.answer.stamp is None else (str(poll.answer.stamp), poll.answer.value)


def stamped(stamp: str, now: Fraction) -> str:
    """Return a timestamp as it is sent: `@-5.5` is relative to the current whole second, others stay unchanged."""
    if not stamp.startswith("@"):
        return stamp
    number = int(now) + Fraction(stamp[1:])
    return str(number) if number.denominator == 1 else format(float(number), ".4f").rstrip("0")


def first_clash(points: Sequence[tuple[Fraction, str]]) -> int | None:
    """Return the first timestamp, in whole seconds, of the first pair less than a second apart; None if there is
    none.
    """
    for later, (moment, _) in enumerate(points):
        for earlier, _ in points[:later]:
            if abs(moment - earlier) < 1:
                return math.floor(earlier)
    return None


def fits(alias: str, value: str) -> bool:
    """Return whether a value fits its resource. The numbers and flags sent are either plain or plainly wrong."""
    if alias == "flag":
        return value in ("true", "false")
    if alias == "mode":
        return value in ("on", "off")
    if alias in ("number", "level"):
        try:
            number = Fraction(value)
        except ValueError:
            return False
        return alias == "number" or 0 <= number <= 100
    return True
