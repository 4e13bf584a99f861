"""Base class of the User service's groups of operations."""

from __future__ import annotations

from typing import ClassVar

from labkit.context import Context
from labkit.core.errors import ServiceError
from labkit.labtime.events import EventKind
from labkit.services.operation import Service
from labkit.services.user.errors import error_object
from labkit.services.user.keys import Keys
from labkit.services.user.passwords import PasswordVerifier

ACCOUNT = EventKind("user", "account")


class Group(Service):
    """Base class of the groups of operations that together form the service `User`."""

    name: ClassVar[str] = "User"
    without_effect: ClassVar[tuple[str, ...]] = ("userdata_schema",)
    events: ClassVar[tuple[EventKind, ...]] = (ACCOUNT,)

    def __init__(self, context: Context, passwords: PasswordVerifier | None = None) -> None:
        self._context = context
        self.keys = Keys(context.database, context.identifiers)
        self._passwords = passwords or PasswordVerifier(context.settings.passwords)

    async def clear(self) -> None:
        self.keys.forget_all()

    def error_object(self, error: ServiceError) -> dict[str, object]:
        return error_object(error)
