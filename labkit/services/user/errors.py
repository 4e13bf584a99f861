"""The error object of the User service (document 2, Errors, item 1).

Solutions parse its `error` as JSON and show the `message` in it, so the text is JSON; the object also carries
the plain `message`.
"""

from __future__ import annotations

import json

from labkit.core.errors import ServiceError
from labkit.core.redaction import HIDDEN


class UserError(ServiceError):
    """An error response with a code that programs can read, such as RFC 6749's `invalid_grant` (section 5.2)."""

    def __init__(self, status: int, message: str, code: str, journaled: str | None = None) -> None:
        super().__init__(status, message, journaled)
        self.code = code

    def for_journal(self) -> ServiceError:
        """Return the error for the journal; its code is hidden unless the text for the journal contains it."""
        if self.journaled is None:
            return self
        return UserError(self.status, self.journaled, self.code if self.code in self.journaled else HIDDEN)


def error_object(error: ServiceError) -> dict[str, object]:
    """Return `{type, error, status, status_code, message}`.

    `error` is JSON text `{statusCode, message}`, with `code` if any.
    """
    shown: dict[str, object] = {"statusCode": error.status, "message": error.message}
    if isinstance(error, UserError):
        shown["code"] = error.code
    return {**error.as_object(), "error": json.dumps(shown), "message": error.message}


def unknown(what: str, name: object) -> ServiceError:
    """Return the ServiceError 404 of a missing record. what: its kind, such as User or Role; name: its id or name."""
    return ServiceError(404, f"{what} {name} does not exist.")
