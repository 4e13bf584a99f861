"""What arrived at an identity provider, and what it answered; without secrets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlsplit

from labkit.core.hiding import without_query_values

CAPACITY = 10_000  # requests kept; the oldest goes first
HIDDEN = "…"
SECRET = frozenset(
    "access_token client_secret code code_challenge code_verifier denied form id_token oauth_signature oauth_token "
    "oauth_token_secret oauth_verifier password refresh_token state token".split()
)
TOLD = frozenset({"error", "error_description"})


@dataclass(slots=True)
class Arrival:
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
        self._arrivals: deque[Arrival] = deque(maxlen=CAPACITY)

    def receive(self, arrival: Arrival) -> Arrival:
        """Take in a request; its answer is set once it is known."""
        self._arrivals.append(arrival)
        return arrival

    def clear(self) -> None:
        """Forget them all."""
        self._arrivals.clear()

    def __len__(self) -> int:
        return len(self._arrivals)

    def __iter__(self) -> Iterator[Arrival]:
        return iter(tuple(self._arrivals))


def shown(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Parameters without the values of those that are secret, or of the queries of URLs."""
    return {
        name: HIDDEN if name in SECRET and value else without_query_values(value, HIDDEN)
        for name, value in pairs
    }


def shown_url(url: str) -> str:
    """A URL of whose parameters those alone are told that say what went wrong."""
    parts = urlsplit(url)
    pairs = dict(parse_qsl(parts.query, keep_blank_values=True))
    query = "&".join(f"{name}={quote(value) if name in TOLD else HIDDEN}" for name, value in pairs.items())
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")
