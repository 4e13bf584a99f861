"""Every error that labkit raises on purpose.

LabWarning           what was asked works, but was perhaps not meant
LabkitError
├── SettingsError    lab.yaml or an argument is wrong: names the key and what was expected
├── LabError         a handle was used in a way that cannot work: names what to do instead
└── ServiceError     a service operation refuses: becomes the error object {type, error, status}

Errors of one room alone (Lua, conformance) live in that room and derive from LabkitError too.
"""

from __future__ import annotations


class LabWarning(UserWarning):
    """What was asked works, but was perhaps not meant."""


class LabkitError(Exception):
    """Base of all errors of labkit's own."""


class SettingsError(LabkitError):
    """A setting is wrong. The text names the key (`products[0].auth`) and what was expected."""


class LabError(LabkitError):
    """A handle was misused. The text names what was wrong and what to use instead."""


class ServiceError(LabkitError):
    """A service operation refuses (document 2 and 3, Errors).

    status: the HTTP-like status of the error object; message: its text.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    @property
    def type(self) -> str:
        """`QueryError` for the caller's mistakes (4xx), `ServerError` for the platform's (5xx)."""
        return "QueryError" if self.status < 500 else "ServerError"

    def as_object(self) -> dict[str, object]:
        """The error object that scripts see."""
        return {"type": self.type, "error": self.message, "status": self.status}
