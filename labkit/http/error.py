"""Exception for a request that is answered with an error status."""

from __future__ import annotations

from collections.abc import Mapping


class HttpError(Exception):
    """Exception by which a request is refused with a status, a short reason and further headers.

    The header `Connection: close` ends the connection after the answer.
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
