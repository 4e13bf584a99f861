"""What arrived at a provider, and what it answered; without secrets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

CAPACITY = 10_000  # requests kept; the oldest goes first


@dataclass(slots=True)
class ReceivedRequest:
    """A request that arrived.

    time: lab time in seconds; parameters: of query, form and Authorization header, secrets hidden; status: None
    where there was no answer; answer: what it was, in words; fault: the name of the one that hit it.
    """

    time: float
    method: str
    path: str
    parameters: Mapping[str, str]
    status: int | None = None
    answer: str = "no answer"
    fault: str = ""


class Inbox:
    """The requests that arrived at a provider, oldest first."""

    def __init__(self) -> None:
        self._arrivals: deque[ReceivedRequest] = deque(maxlen=CAPACITY)

    def receive(self, arrival: ReceivedRequest) -> ReceivedRequest:
        """Take in a request; its answer is set once it is known."""
        self._arrivals.append(arrival)
        return arrival

    def clear(self) -> None:
        """Forget them all."""
        self._arrivals.clear()

    def __len__(self) -> int:
        return len(self._arrivals)

    def __iter__(self) -> Iterator[ReceivedRequest]:
        return iter(tuple(self._arrivals))
