"""A standalone User service for measures: its operations without HTTP and scripts around them.

Operations are called as scripts call them, with validation and journal, on a database in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from labkit.bench.control import BenchError
from labkit.context import Context
from labkit.core.identifiers import Identifiers
from labkit.http.address import ServerAddress
from labkit.http.outbound import OutboundClient
from labkit.labtime.clock import Clock
from labkit.providers.mail import Mailbox
from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.services.user.passwords import PasswordVerifier
from labkit.services.user.service import User
from labkit.settings import LabSettings
from labkit.storage.schema import metadata

SOLUTION = "bench"
PASSWORD = "correct horse battery"
REDIRECT = "https://client.example/callback"


class Unhashed(PasswordVerifier):
    """Passwords without hashing, which show the remaining cost of an operation."""

    async def hash(self, password: str) -> str:
        return password

    async def verify(self, kept: str | None, password: str) -> bool:
        return kept == password


class Fixture:
    """A User service for one solution, with active users: ids from 1."""

    def __init__(self, passwords: PasswordVerifier) -> None:
        settings = LabSettings()
        clock, address = Clock(), ServerAddress(settings.host)
        context = Context.create(
            settings,
            clock=clock,
            identifiers=Identifiers(),
            address=address,
            outbound=OutboundClient(settings.domain, address, settings.guard.outbound),
            mailbox=Mailbox(clock.now),
        )
        self.database = context.database
        self.user = User(context, passwords)
        self._services = Services(context, [self.user])
        self._caller = Caller(SOLUTION)
        self.logins: list[dict[str, str]] = []  # parameters of getUserToken for each user

    async def start(self, stack: AsyncExitStack, people: int) -> Fixture:
        """Open the database, until `stack` closes it, and create the users."""
        self.database.start(metadata)
        stack.callback(self.database.close)
        for number in range(1, people + 1):
            login = {"email": f"person{number}@example.com", "password": PASSWORD}
            code = await self.call("createUser", {**login, "name": f"Person {number}"})
            await self.call("activateUser", {"code": code})
            self.logins.append(login)
        return self

    async def call(self, operation: str, parameters: Mapping[str, object], expected: int = 200) -> Any:
        """Return the result of an operation. Raises BenchError where its status is not the expected one."""
        result: Any = await self._services.call(self._caller, "User", operation, parameters)
        refused = isinstance(result, dict) and "error" in result
        if (result["status"] if refused else 200) != expected:
            raise BenchError(f"{operation}: expected status {expected}, got {result!r}")
        return result

    async def tokens(self) -> list[str]:
        """Return a user token of each user."""
        return [await self.call("getUserToken", login) for login in self.logins]

    async def client(self) -> dict[str, Any]:
        """Create an OAuth client of the first user."""
        made: dict[str, Any] = await self.call(
            "createOauthClient", {"id": 1, "name": "bench", "redirect": REDIRECT}
        )
        return made

    async def exchanges(self, client: Mapping[str, Any], tokens: Sequence[str]) -> list[dict[str, object]]:
        """Return parameters of getOauthToken with a new code for each user token."""
        given = []
        for token in tokens:
            code = await self.call("getOauthAuthorizeApproved", approval(client, token))
            given.append(
                {
                    "grant_type": "authorization_code",
                    "client_id": client["id"],
                    "client_secret": client["secret"],
                    "code": code,
                    "redirect_uri": REDIRECT,
                }
            )
        return given


def approval(client: Mapping[str, Any], token: str) -> dict[str, object]:
    """Return parameters of getOauthAuthorizeApproved."""
    return {
        "token": token,
        "client_id": client["id"],
        "redirect_uri": REDIRECT,
        "response_type": "code",
        "scope": "profile",
    }
