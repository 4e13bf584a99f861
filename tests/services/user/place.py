"""A stage for tests of the User service: all its groups, on a real database and a virtual clock.

    async def test_something(place: Place) -> None:                # the fixture of conftest.py
        ann = await place.person("ann")                            # an active user; ann.id, ann.email, ann.name
        token = await place.token(ann)                             # a user token, 7200 s
        role = await place.call("createRole", role_id="owner")     # the result, or the error object
        error = await place.refused("getRole", role_id="guest")    # asserts that it is refused
        assert error["status"] == 404
        await place.clock.advance(7199)                            # lab time; nothing sleeps

What stands around the service:
- `place.accounts`: the payloads of the event `account`, oldest first;
- `place.consumers["github"] = Consumer(…)`: the identity providers that the lab has, names in lower case;
- `place.web`: answers what the platform itself requests: `place.web.answers[url] = (200, "…")` (no query in the
  url) and tells in `place.web.requests` what it was asked: (method, url, headers, body);
- `place.journal`, `place.database`, `place.parts`, `place.configuration`.

Calls are made by the solution `acme` unless another is named: `place.call(…, solution="other")`. A person made
without a password costs no hashing, and can not log in with one. `Place(data=tmp_path / "lab.db")` is durable:
close it and make another on the same file to restart. `await place.kept("user")` is what a table holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from labkit.core.clock import Clock
from labkit.core.database import Database, execute
from labkit.core.identifiers import Identifiers
from labkit.core.journal import Journal
from labkit.core.tables import metadata
from labkit.services.calls import Configuration, Services
from labkit.services.operation import Caller
from labkit.services.user import people
from labkit.services.user.keys import Keys
from labkit.services.user.parts import Consumer, Parts
from labkit.services.user.passwords import Passwords
from labkit.services.user.service import User
from labkit.services.user.users import tokens as user_tokens

SOLUTION = "acme"


class FakeWeb:
    """Answers requests from a table; 404 for what is not in it, OSError where the answer is None."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str] | None] = {}
        self.requests: list[tuple[str, str, Mapping[str, str], str | None]] = []

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None = None
    ) -> tuple[int, str]:
        self.requests.append((method, url, headers, body))
        answer = self.answers.get(url.partition("?")[0], (404, ""))
        if answer is None:
            raise OSError(f"nobody listens at {url}")
        return answer


class Place:
    """The User service and what it works with. data: a file for state that survives `close`."""

    def __init__(self, seed: int | None = 7, data: Path | None = None) -> None:
        self.clock = Clock(rate=0)
        self.journal = Journal(self.clock.micros)
        self.database = Database(data)
        self.database.start(metadata)
        self.identifiers = Identifiers(seed)
        self.identifiers.start = self.database.starts
        self.accounts: list[dict[str, object]] = []
        self.consumers: dict[str, Consumer] = {}
        self.web = FakeWeb()
        self.passwords = Passwords()
        self.parts = Parts(
            self.clock,
            self.database,
            self.identifiers,
            Keys(self.database, self.identifiers),
            self.passwords,
            lambda name: self.consumers.get(name.lower()),
            self.web,
            lambda caller, payload: self.accounts.append(dict(payload)),
        )
        self.configuration: dict[str, Configuration] = {}
        self.services = Services([User(self.parts)], self.journal, self.configuration)

    def close(self) -> None:
        self.database.close()

    async def call(
        self, operation: str, parameters: object = None, *, solution: str = SOLUTION, **named: Any
    ) -> Any:
        """What `User.<operation>` gives: its result or the error object.

        The parameters are named, or given as one object where their names are no words of Python.
        """
        given = named if parameters is None else parameters
        return await self.services.call(Caller(solution), "User", operation, given)

    async def refused(self, operation: str, parameters: object = None, **named: Any) -> dict[str, Any]:
        """The error object of a call; fails where the call succeeds."""
        result = await self.call(operation, parameters, **named)
        assert isinstance(result, dict), result
        assert {"type", "error", "status", "message"} <= result.keys(), result
        return result

    async def person(
        self, name: str = "ann", password: str | None = None, solution: str = SOLUTION
    ) -> people.User:
        """An active user with the address `<name>@example.com`."""
        kept = "" if password is None else await self.passwords.hash(password)
        return await self.database.run(
            people.add,
            solution,
            f"{name}@example.com",
            name,
            created=self.clock.seconds(),
            password=kept,
        )

    async def kept(self, *tables: str) -> str:
        """All that tables hold, secrets too, as text."""

        def read(connection: Connection) -> str:
            return "".join(repr(execute(connection, f"SELECT * FROM {table}").fetchall()) for table in tables)

        return await self.database.read(read)

    async def token(self, user: people.User, time_to_live: int = 7200, solution: str = SOLUTION) -> str:
        """A user token, as getUserToken issues it."""
        return await user_tokens.issue(self.parts, solution, user, time_to_live)
