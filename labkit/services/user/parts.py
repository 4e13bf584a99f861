"""What every group of the User service is handed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from labkit.core.clock import Clock
from labkit.core.database import Database
from labkit.core.errors import ServiceError
from labkit.core.identifiers import Identifiers
from labkit.services.operation import Caller, Service
from labkit.services.user.errors import error_object
from labkit.services.user.keys import Keys
from labkit.services.user.passwords import Passwords


@dataclass(frozen=True, slots=True)
class Consumer:
    """Where an identity provider is reached: the URLs of its endpoints.

    request_token: of an OAuth 1 provider alone.
    """

    protocol: Literal["oauth1", "oauth2"]
    authorize: str
    token: str
    userinfo: str
    request_token: str = ""


class Web(Protocol):
    """How the platform itself reaches a server: the lab's own by loopback, others as named."""

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None = None
    ) -> tuple[int, str]:
        """Status and text of the answer; follows no redirects. Raises OSError where there is none."""
        ...


@dataclass(frozen=True)
class Parts:
    """What the groups work with.

    consumers: name of a social consumer (any letter case) → its provider, None where the lab has none;
    account: raises the event `account` in a solution: (caller, payload).
    """

    clock: Clock
    database: Database
    identifiers: Identifiers
    keys: Keys
    passwords: Passwords
    consumers: Callable[[str], Consumer | None]
    web: Web
    account: Callable[[Caller, Mapping[str, object]], None]


class Group(Service):
    """Base of the groups of operations; together they are the one service `User`."""

    name: ClassVar[str] = "User"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def error_object(self, error: ServiceError) -> dict[str, object]:
        return error_object(error)
