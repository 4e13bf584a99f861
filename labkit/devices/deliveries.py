"""Answers of polls on one connection: what its client was given last, and what it may not have received yet."""

from __future__ import annotations

from labkit.devices.seen import Key
from labkit.devices.state import State, Stored

MOST_ALIASES = 100  # remembered for one connection; those that were answered longest ago are forgotten first


class PollDeliveries:
    """For each alias of a device the second and the number of the value that this connection handed out last.

    A lab that is reset forgets them.
    """

    __slots__ = ("_generation", "_last", "_state", "_unconfirmed")

    def __init__(self, state: State) -> None:
        self._state = state
        self._generation = state.seen.generation
        self._last: dict[Key, tuple[int, int]] = {}
        self._unconfirmed: list[
            tuple[Key, int, int]
        ] = []  # at most as many, though a client may pipeline for ever

    def last_of(self, key: Key, second: int) -> int | None:
        """Return the number of the value of an alias that was handed out last; None if it was of another second."""
        self._forget_reset()
        timestamp, number = self._last.get(key, (None, None))
        return number if timestamp == second else None

    async def add(self, key: Key, given: Stored, since: int | None) -> None:
        """Record an answer that was written whole. since: the second that the poll named; None if it named none."""
        self._forget_reset()
        timestamp, number = given.point.timestamp, given.number
        self._last.pop(key, None)  # so that the dictionary is in the order of the answers
        self._last[key] = timestamp, number
        if len(self._last) > MOST_ALIASES:
            del self._last[next(iter(self._last))]
        if since == timestamp:
            self._unconfirmed.append((key, timestamp, number))
            del self._unconfirmed[:-MOST_ALIASES]
        await self._state.answered(key, given, named=since == timestamp)

    def confirm(self) -> None:
        """Count the values handed out so far as seen: the client has received them."""
        if self._unconfirmed:
            self._forget_reset()
            for mark in self._unconfirmed:
                self._state.seen.add(*mark)
            self._unconfirmed.clear()

    def _forget_reset(self) -> None:
        if self._generation != self._state.seen.generation:
            self._generation = self._state.seen.generation
            self._last.clear()
            self._unconfirmed.clear()
