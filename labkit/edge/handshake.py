"""One handshake, as whoever accepted the connection follows it."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NoReturn


@dataclass(slots=True)
class Handshake:
    """end: ends the connection once what was written has left. failure: why it failed, whatever came of that."""

    end: Callable[[], object] = lambda: None
    failure: ssl.SSLError | None = None

    def fail(self, error: ssl.SSLError, outgoing: ssl.MemoryBIO) -> NoReturn:
        """Raise `error`; but first let the alert in `outgoing` leave, which event loops send when they are to wait."""
        if isinstance(error, ssl.SSLWantReadError):
            raise error
        first, self.failure = self.failure is None, self.failure or error
        if first and outgoing.pending:
            self.end()
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "an alert is to leave")
        raise self.failure


# Event loops make the TLS object of a connection out of sight: this is how it finds its handshake.
HANDSHAKE: ContextVar[Handshake] = ContextVar("handshake")


def current() -> Handshake:
    """The handshake of the connection that is being accepted."""
    return HANDSHAKE.get(None) or Handshake()
