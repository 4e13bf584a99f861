"""Requests that a provider received and its answers to them, without secrets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

CAPACITY = 10_000  # requests kept; the oldest are removed


@dataclass(slots=True)
class ReceivedRequest:
    """Request that a provider received.

    time: lab time in seconds; parameters: of query, form and Authorization header, secrets hidden; status: None
    without an answer; answer: description of the answer; fault: name of the fault that hit the request, if any.
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
        """Store and return a request; the caller sets its answer later."""
        self._arrivals.append(arrival)
        return arrival

    def clear(self) -> None:
        """Remove all requests."""
        self._arrivals.clear()

    def restore(self, arrivals: Iterable[ReceivedRequest]) -> None:
        """Replace all requests."""
        self._arrivals.clear()
        self._arrivals.extend(arrivals)

    def __len__(self) -> int:
        return len(self._arrivals)

    def __iter__(self) -> Iterator[ReceivedRequest]:
        return iter(tuple(self._arrivals))
