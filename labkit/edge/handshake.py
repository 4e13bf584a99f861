"""State and errors of a TLS handshake, for the listener that accepted the connection."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NoReturn

from labkit.core.certificates import DISTRUST
from labkit.edge.names import NameRefused

ALERT = re.compile(
    r"alert (\w[\w ]*)"
)  # of OpenSSL's reasons: tlsv1 alert unknown ca, sslv3 alert bad certificate
NO_LIMIT = 1e6  # seconds: of the event loop, beside the limit of the lab


@dataclass(slots=True)
class Handshake:
    """State of a handshake.

    end: ends the connection once all written bytes are sent; failure: its first error; late: that it took too long.
    """

    end: Callable[[], object] = lambda: None
    failure: ssl.SSLError | None = None
    late: ConnectionAbortedError | None = None

    def is_late(self, seconds: float) -> None:
        """End the connection, whose handshake has not come to its end in these seconds."""
        self.late = ConnectionAbortedError(f"not within {seconds:g} s")
        self.end()

    def fail(self, error: ssl.SSLError, outgoing: ssl.MemoryBIO) -> NoReturn:
        """Raise `error`, after SSLWantReadError first, on which event loops send the alert in `outgoing`."""
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
    """Return the handshake of the connection that is being accepted."""
    return HANDSHAKE.get(None) or Handshake()


def explain(error: OSError, peer_ip: str) -> tuple[str, str]:
    """Return reason and detail of a TLS failure; where the client ended it by an alert, the reason has its name."""
    if isinstance(error, NameRefused):
        return "unknown server name", f"{error.refusal}; from {peer_ip}"
    if isinstance(error, ssl.SSLError):
        what = getattr(error, "reason", None) or error.strerror or ""  # OpenSSL's own words
        what = what.replace("_", " ").lower()
        if (alert := ALERT.search(what)) is None:
            return "TLS handshake failed", f"{what}; from {peer_ip}"
        hint = ", so it may not trust the lab's CA" if alert[1] in DISTRUST else ""
        return f"TLS alert {alert[1]}", f"the client ended TLS by this alert{hint}; from {peer_ip}"
    return "TLS handshake not finished", f"{str(error) or 'the client left'}; from {peer_ip}"
