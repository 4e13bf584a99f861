"""Exception for a request that is answered with an error status."""

from __future__ import annotations

from collections.abc import Mapping


class HttpError(Exception):
    """Raised to refuse a request with a status and a short reason.

    `Connection: close` among the headers ends the connection after the answer.
    """

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = dict(headers or {})

    @property
    def closes(self) -> bool:
        """Whether the connection ends after the answer."""
        return self.headers.get("Connection") == "close"
