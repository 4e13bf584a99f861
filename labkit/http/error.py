"""A request that is answered with an error status, whichever host it was sent to."""

from __future__ import annotations

from collections.abc import Mapping


class HttpError(Exception):
    """The request is refused with a status and a short reason; `Connection: close` among the headers ends the
    connection after the answer.
    """

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = dict(headers or {})

    @property
    def closes(self) -> bool:
        """Does the connection end after the answer?"""
        return self.headers.get("Connection") == "close"
