"""Results cached for a request head that arrives again over the same connection."""

from __future__ import annotations

from typing import Any


class KnownHead:
    """Cached results for one head of one connection; they depend on nothing else, or are stored with their key.

    host: its Host header, once the listener found that it is the connection's host and that the head needs no
    other handling by the listener; credential: settings of the product that looked for one, and the credential
    that it found.
    """

    __slots__ = ("credential", "host")

    def __init__(self) -> None:
        self.host: str | None = None
        self.credential: tuple[object, Any] | None = None
