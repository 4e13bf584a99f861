"""Faults in which datapoint answers a poll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.devices.polls import Poll, Polls
from labkit.devices.state import Key, State, Stored, Waiting

DUE = "labkit.devices.state:State.due"
MARK = "labkit.devices.state:State.mark"
TAKES = "labkit.devices.polls:Poll.takes"
WAKE = "labkit.devices.polls:Polls.wake"

Found = tuple[list[Stored | None], int | None]


@mutant("DEV-POLL-21 DEV-POLL-22", DUE)
def strictly_later(original: Any) -> Any:
    """a datapoint of the very second of If-Modified-Since does not answer a poll that comes"""

    async def broken(self: State, key: Key, polls: Sequence[Waiting], now: int) -> Found:
        found: Found = await original(self, key, [poll._replace(same=False) for poll in polls], now)
        return found

    return broken


@mutant("DEV-POLL-21", TAKES)
def strictly_later_while_waiting(original: Any) -> Any:
    """a value of the very second of If-Modified-Since does not answer a poll that waits"""

    def broken(self: Poll, fresh: Stored, written: bool) -> bool:
        return bool(original(self, fresh, written)) and (self.live or fresh.point.timestamp > self.since)

    return broken


@mutant("DEV-POLL-21", DUE)
def marked_for_good(original: Any) -> Any:
    """a second of which one value was given counts as given, whatever is written in it later"""
    given: set[tuple[Key, int]] = set()

    async def broken(self: State, key: Key, polls: Sequence[Waiting], now: int) -> Found:
        known = [poll._replace(same=poll.same and (key, poll.since) not in given) for poll in polls]
        found: Found = await original(self, key, known, now)
        given.update((key, each.point.timestamp) for each in found[0] if each is not None)
        return found

    return broken


@mutant("DEV-POLL-8 DEV-POLL-22", MARK)
def never_marked(original: Any) -> Any:
    """the datapoint of the very second of If-Modified-Since answers again and again"""

    async def broken(self: State, product: str, identity: str, given: Stored) -> None:
        return None

    return broken


@mutant("DEV-POLL-23", TAKES)
def one_for_one(original: Any) -> Any:
    """of several polls that wait, a datapoint answers one"""
    given: set[int] = set()

    def broken(self: Poll, fresh: Stored, written: bool) -> bool:
        if fresh.number in given or not original(self, fresh, written):
            return False
        given.add(fresh.number)
        return True

    return broken


@mutant("DEV-POLL-24", WAKE)
def ahead_at_once(original: Any) -> Any:
    """a point recorded ahead answers as soon as it is recorded"""

    def broken(self: Polls, product: str, identity: str, stored: Sequence[Stored], written: bool) -> None:
        early = [each._replace(point=each.point._replace(timestamp=1)) for each in stored]
        original(self, product, identity, early, True)

    return broken


@mutant("DEV-POLL-24", WAKE)
def ahead_forgotten(original: Any) -> Any:
    """a point recorded ahead while a poll waits does not answer when its second comes"""

    def broken(self: Polls, product: str, identity: str, stored: Sequence[Stored], written: bool) -> None:
        original(self, product, identity, stored if written else [], written)

    return broken


@mutant("DEV-POLL-24", DUE)
def ahead_unseen(original: Any) -> Any:
    """a point recorded ahead before a poll comes does not answer when its second comes"""

    async def broken(self: State, key: Key, polls: Sequence[Waiting], now: int) -> Found:
        found, _ = await original(self, key, polls, now)
        return found, None

    return broken


@mutant("DEV-POLL-25", TAKES)
def future_unheard(original: Any) -> Any:
    """any write answers a poll that waits"""
    return lambda self, fresh, written: written or original(self, fresh, written)
