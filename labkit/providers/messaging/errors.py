"""Errors of the messaging REST API: {code, message, more_info, status}."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.http.error import HttpError

MEANINGS: Mapping[int, str] = {
    20001: "A parameter is missing, or its value is not allowed.",
    20003: "The account's sid or token is wrong.",
    20004: "The method is not allowed for this resource.",
    20404: "There is no such resource in this account.",
    20413: "The request is too large.",
    20415: "The request's body is not a form.",
    20429: "Too many requests at once: try again later.",
    20500: "The request could not be handled.",
    20503: "The service is not available: try again later.",
    21211: "The address is no phone number in E.164 format.",
    21602: "A message needs a body.",
    21603: "A message needs a sender: a phone number or a messaging service.",
    52302: "A notification names too many recipients.",
}
CODES = {400: 20001, 401: 20003, 404: 20404, 405: 20004, 413: 20413, 415: 20415, 429: 20429, 503: 20503}


class ApiError(HttpError):
    """Error answer to a request. code: the API's own error code, by default the general one of the HTTP status."""

    def __init__(
        self, status: int, message: str, code: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, message, headers)
        self.code = code if code is not None else CODES.get(status, 20500)

    @classmethod
    def of(cls, error: HttpError) -> ApiError:
        """Return an HTTP error as an error of the API."""
        return (
            error if isinstance(error, ApiError) else cls(error.status, error.reason, headers=error.headers)
        )


def wrong(name: str, expected: str) -> ApiError:
    """Return the error 400 for a parameter with an invalid value."""
    return ApiError(400, f"{name}: {expected}")
