"""What was made of the head of a request, for when the same one comes over its connection again."""

from __future__ import annotations

from typing import Any


class KnownHead:
    """Belongs to one head of one connection. It holds what follows from these alone, or says what else that was.

    host: its Host header, once the listener found that the head is for this connection's host and that nothing else in
    it is for the listener; credential: the settings of the product that asked for one, and what the head shows it.
    """

    __slots__ = ("credential", "host")

    def __init__(self) -> None:
        self.host: str | None = None
        self.credential: tuple[object, Any] | None = None
