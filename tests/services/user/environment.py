"""Environment of the User service's tests: all its groups, on a real database and a virtual clock.

    async def test_something(env: Environment) -> None:          # the fixture of conftest.py
        ann = await env.person("ann")                            # an active user; ann.id, ann.email, ann.name
        token = await env.token(ann)                             # a user token, 7200 s
        role = await env.call("createRole", role_id="owner")     # the result, or the error object
        error = await env.refused("getRole", role_id="guest")    # asserts that it is refused
        assert error["status"] == 404
        await env.clock.advance(7199)                            # lab time; nothing sleeps

Beside the service:
- `env.accounts`: the payloads of the event `account`, oldest first;
- `env.consumers["github"] = Consumer(…)`: the identity providers of the lab, names in lower case;
- `env.web`: answers the platform's own requests: `env.web.answers[url] = (200, "…")` (no query in the
  url), and records them in `env.web.requests`: (method, url, headers, body);
- `env.journal`, `env.database`, `env.context`, `env.configuration`.

The solution `acme` makes the calls, unless another is given: `env.call(…, solution="other")`. A person created
without a password costs no hashing, and cannot log in with one. `Environment(data=tmp_path / "lab.db")` is durable:
close it and make another on the same file to restart. `await env.kept("user")` returns the rows of a table.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from labkit.context import IdentityProvider
from labkit.core.directory import Directory
from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.services.user import accounts as user_accounts
from labkit.services.user import user_tokens
from labkit.services.user.passwords import PasswordVerifier
from labkit.services.user.service import User
from labkit.services.user.socials.web import Consumer
from labkit.settings import PasswordSettings
from labkit.storage.database import execute
from tests.context import Entry, FakeOutbound, make_context, open_database

SOLUTION = "acme"


@dataclass(frozen=True)
class FakeProvider:
    """Stub of an identity provider."""

    consumer: Consumer

    @property
    def protocol(self) -> str:
        return self.consumer.protocol

    def endpoints(self) -> dict[str, str]:
        return {name: url for name, url in asdict(self.consumer).items() if name != "protocol"}


class Consumers:
    """Stub of the lab's identity providers, by name in lower case."""

    def __init__(self, providers: Directory[IdentityProvider]) -> None:
        self._providers = providers

    def __setitem__(self, name: str, consumer: Consumer) -> None:
        if name in self._providers:
            self._providers.remove(name)
        self._providers.add(name, FakeProvider(consumer))

    def __delitem__(self, name: str) -> None:
        self._providers.remove(name)


class Environment:
    """The User service and its dependencies. data: a file for state that survives `close`."""

    def __init__(self, seed: int | None = 7, data: Path | None = None) -> None:
        self.context = make_context(Entry("acme"), Entry("other"), seed=seed, data=data)
        open_database(self.context)
        self.clock = self.context.clock
        self.journal = self.context.journal
        self.database = self.context.database
        self.configuration = self.context.configuration
        self.consumers = Consumers(self.context.providers)
        assert isinstance(self.context.outbound, FakeOutbound)
        self.web = self.context.outbound
        self.passwords = PasswordVerifier(PasswordSettings(memory=8, passes=1))
        self.user = User(self.context, self.passwords)
        self.services = Services(self.context, [self.user])

    @property
    def accounts(self) -> list[dict[str, object]]:
        """Return the payloads of the event `account`, oldest first."""
        raised = self.journal.select("event")
        return [dict(record.detail or {}) for record in raised if record.summary == "account"]

    def close(self) -> None:
        self.database.close()

    async def call(
        self, operation: str, parameters: object = None, *, solution: str = SOLUTION, **named: Any
    ) -> Any:
        """Return the result of `User.<operation>`, or its error object.

        The parameters are keywords, or one object if their names are no Python identifiers.
        """
        given = named if parameters is None else parameters
        return await self.services.call(Caller(solution), "User", operation, given)

    async def refused(self, operation: str, parameters: object = None, **named: Any) -> dict[str, Any]:
        """Return the error object of a call. Raises AssertionError if it succeeds."""
        result = await self.call(operation, parameters, **named)
        assert isinstance(result, dict), result
        assert {"type", "error", "status", "message"} <= result.keys(), result
        return result

    async def person(
        self, name: str = "ann", password: str | None = None, solution: str = SOLUTION
    ) -> user_accounts.UserIdentity:
        """Create an active user with the address `<name>@example.com`."""
        kept = "" if password is None else await self.passwords.hash(password)
        return await self.database.run(
            user_accounts.add,
            solution,
            f"{name}@example.com",
            name,
            created=self.clock.seconds(),
            password=kept,
        )

    async def kept(self, *tables: str) -> str:
        """Return all rows of tables as text, including secrets."""

        def read(connection: Connection) -> str:
            return "".join(repr(execute(connection, f"SELECT * FROM {table}").fetchall()) for table in tables)

        return await self.database.read(read)

    async def token(
        self, user: user_accounts.UserIdentity, time_to_live: int = 7200, solution: str = SOLUTION
    ) -> str:
        """Return a user token, as getUserToken issues it."""
        return await user_tokens.issue(self.context, self.user.keys, solution, user, time_to_live)
