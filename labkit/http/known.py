"""Cache of results for a request head that is received repeatedly over a connection."""

from __future__ import annotations

from typing import Any


class KnownHead:
    """Results for one request head of one connection, which depend on nothing else.

    host: the Host header, if the listener found that it is the connection's host and that the head needs no other
    check; credential: the credential that a product found in the head, with the product's settings at that time.
    """

    __slots__ = ("credential", "host")

    def __init__(self) -> None:
        self.host: str | None = None
        self.credential: tuple[object, Any] | None = None
