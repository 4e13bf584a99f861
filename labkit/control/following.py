"""Streams of what happens in a lab from now on, for readers that may be slower than it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from labkit.control.data import Data

S = TypeVar("S")
T = TypeVar("T")

ROOM = 10_000  # items that wait for a slow reader
SHARED = 1000  # results that readers share


class Missed(Data):
    """Gap in a stream. missed: number of items that were left out, since too many waited for the reader."""

    missed: int


class Stream(Protocol):
    """Items that arrive one after the other, until `aclose` or their end."""

    def __aiter__(self) -> AsyncIterator[Any]: ...
    async def __anext__(self) -> Any: ...
    async def aclose(self) -> None:
        """End the stream."""


class Once(Generic[S, T]):
    """Function that is called once for each of the last items, by identity, however many readers need its result."""

    def __init__(self, function: Callable[[S], T]) -> None:
        self._function = function
        self._made: dict[int, tuple[S, T]] = {}

    def __call__(self, item: S) -> T:
        made = self._made.get(id(item))
        if made is None:
            made = self._made[id(item)] = item, self._function(item)
            if len(self._made) > SHARED:
                del self._made[next(iter(self._made))]
        return made[1]


class Followed(AsyncIterator[T | Missed], Generic[S, T]):
    """Items from now on, until `aclose`.

    subscribe: calls a function with each item, and returns a function that ends this; convert: returns what the reader
    gets for an item.
    """

    def __init__(
        self, subscribe: Callable[[Callable[[S], object]], Callable[[], None]], convert: Callable[[S], T]
    ) -> None:
        self._waiting: deque[S] = deque()
        self._missed = 0
        self._arrived = asyncio.Event()
        self._convert = convert
        self._stop = subscribe(self._add)

    def _add(self, item: S) -> None:
        if self._missed or len(self._waiting) >= ROOM:
            self._missed += 1
        else:
            self._waiting.append(item)
        self._arrived.set()

    def waiting(self) -> Iterator[T | Missed]:
        """Remove and yield the items that have arrived."""
        while self._waiting:
            yield self._convert(self._waiting.popleft())
        if self._missed:
            missed, self._missed = self._missed, 0
            yield Missed(missed=missed)

    async def __anext__(self) -> T | Missed:
        while not (self._waiting or self._missed):
            self._arrived.clear()
            await self._arrived.wait()
        return next(self.waiting())

    async def aclose(self) -> None:
        """End the stream."""
        self._stop()
