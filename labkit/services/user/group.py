"""Base class of the User service's groups of operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from labkit.context import Context
from labkit.core.errors import ServiceError
from labkit.labtime.events import EventKind
from labkit.services.operation import Caller, Service
from labkit.services.user.errors import error_object
from labkit.services.user.keys import Keys
from labkit.services.user.passwords import PasswordVerifier

P = ParamSpec("P")
T = TypeVar("T")
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

    def _run(
        self,
        caller: Caller,
        function: Callable[Concatenate[Connection, str, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Awaitable[T]:
        """Return the result of `function(connection, solution, …)` for the caller, once its writes are committed."""
        return self._context.database.run(function, caller.solution, *args, **kwargs)

    def _read(
        self,
        caller: Caller,
        function: Callable[Concatenate[Connection, str, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Awaitable[T]:
        """Return the result of `function(connection, solution, …)`, which only reads, for the caller."""
        return self._context.database.read(function, caller.solution, *args, **kwargs)

    def error_object(self, error: ServiceError) -> dict[str, object]:
        return error_object(error)
