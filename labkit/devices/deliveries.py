"""Deliveries of poll answers on one connection: the last values sent, and those not confirmed by the client."""

from __future__ import annotations

from labkit.devices.seen import Key
from labkit.devices.state import State, Stored

MOST_ALIASES = 100  # of one connection; the least recently answered ones are dropped first


class PollDeliveries:
    """The second and the number of the last value sent on a connection, for each alias of a device.

    A reset of the lab clears them.
    """

    __slots__ = ("_generation", "_last", "_state", "_unconfirmed")

    def __init__(self, state: State) -> None:
        self._state = state
        self._generation = state.seen.generation
        self._last: dict[Key, tuple[int, int]] = {}
        self._unconfirmed: list[
            tuple[Key, int, int]
        ] = []  # at most MOST_ALIASES, though a client may pipeline without end

    def last_number(self, key: Key, second: int) -> int | None:
        """Return the number of the last value sent of an alias; None if it was of another second."""
        self._forget_reset()
        timestamp, number = self._last.get(key, (None, None))
        return number if timestamp == second else None

    async def add(self, key: Key, given: Stored, since: int | None) -> None:
        """Record an answer that was written completely. since: the second that the poll named, or None."""
        self._forget_reset()
        timestamp, number = given.point.timestamp, given.number
        self._last.pop(key, None)  # so that the dictionary is in the order of the answers
        self._last[key] = timestamp, number
        if len(self._last) > MOST_ALIASES:
            del self._last[next(iter(self._last))]
        if since == timestamp:
            self._unconfirmed.append((key, timestamp, number))
            del self._unconfirmed[:-MOST_ALIASES]
        await self._state.record_answer(key, given, named=since == timestamp)

    def confirm(self) -> None:
        """Mark the values sent so far as seen: the client has received them."""
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
