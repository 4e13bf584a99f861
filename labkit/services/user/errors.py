"""The error object of the User service (document 2, Errors, item 1).

Solutions parse its `error` as JSON and show the `message` in it, so the text is JSON; the object also carries
the plain `message`.
"""

from __future__ import annotations

import json

from labkit.core.errors import ServiceError
from labkit.core.hiding import HIDDEN


class UserError(ServiceError):
    """A refusal with a name that programs can read, such as RFC 6749's `invalid_grant` (section 5.2)."""

    def __init__(self, status: int, message: str, code: str, journaled: str | None = None) -> None:
        super().__init__(status, message, journaled)
        self.code = code

    def for_journal(self) -> ServiceError:
        """Return the error as the journal may show it: with its code where that is in the text for the journal."""
        if self.journaled is None:
            return self
        return UserError(self.status, self.journaled, self.code if self.code in self.journaled else HIDDEN)


def error_object(error: ServiceError) -> dict[str, object]:
    """`{type, error, status, message}`; `error` is JSON text `{statusCode, message}`, with `code` if it has one."""
    shown: dict[str, object] = {"statusCode": error.status, "message": error.message}
    if isinstance(error, UserError):
        shown["code"] = error.code
    return {**error.as_object(), "error": json.dumps(shown), "message": error.message}


def unknown(what: str, name: object) -> ServiceError:
    """404: there is no such user, role, client …"""
    return ServiceError(404, f"{what} {name} does not exist.")
