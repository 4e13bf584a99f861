"""Client of the User service for checks, through the probe: operations, their refusals, and fresh users."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from labkit.conformance import expect
from labkit.conformance.probe import Probe, Table
from labkit.conformance.set_up import set_up

PASSWORD = "correct horse"  # the password of users that belong to one check
NEW_PASSWORD = "battery staple"  # the password after a change
NOBODY = 2**50  # an id that no user and no client has


@dataclass(frozen=True, slots=True)
class Person:
    """An active user that belongs to one check."""

    id: int
    email: str
    password: str


class User(Probe):
    """The User service of the probe.

    The methods `table` (an object or a list), `text`, `nothing` and `empty` call an operation that should succeed, and
    are named for the type of its result; they raise Mismatch for an error object. `refused` calls one that should fail.
    """

    async def table(self, operation: str, **parameters: object) -> Any:
        """Return the object or list that an operation returns."""
        return await self._given("table", operation, parameters)

    async def text(self, operation: str, **parameters: object) -> str:
        """Return the text that an operation returns."""
        return str(await self._given("string", operation, parameters))

    async def nothing(self, operation: str, **parameters: object) -> None:
        """Raise Mismatch unless an operation returns nil."""
        await self._given("nil", operation, parameters)

    async def empty(self, operation: str, **parameters: object) -> None:
        """Raise Mismatch unless an operation returns an empty table."""
        self.same(f"result of {operation}", await self.table(operation, **parameters) or {}, {})

    async def stores(self, operation: str, /, id: object, **values: object) -> None:
        """Raise Mismatch unless an operation on a user's data gives the values that it is given."""
        wanted = values.get("key values", values)
        self.same(f"result of {operation}", await self.table(operation, id=id, **values), wanted)

    async def refused(self, operation: str, status: int, /, **parameters: object) -> Table:
        """Return the error object that an operation returns. Raises Mismatch unless it has this status, and a
        message.
        """
        kind, result = await self.call("User", operation, parameters)
        if kind != "table" or not isinstance(result, dict):
            raise self.mismatch(operation, "an error object", kind)
        self.expect_error(operation, status, result)
        message = result.get("message")
        if not isinstance(message, str) or not message:
            raise self.mismatch(operation, "an error object with a message", result)
        try:
            detail = json.loads(result.get("error", ""))
        except (TypeError, ValueError):
            raise self.mismatch(operation, "an error that is JSON text", result) from None
        if not isinstance(detail, dict) or (detail.get("statusCode"), detail.get("message")) != (
            status,
            message,
        ):
            raise self.mismatch(operation, f"an error that tells {status} and the message", result)
        return result

    async def fails(self, operation: str, **parameters: object) -> None:
        """Raise Mismatch unless an operation returns an error object."""
        kind, result = await self.call("User", operation, parameters)
        if kind != "table" or not isinstance(result, dict) or not {"error", "status"} <= result.keys():
            raise self.mismatch(operation, "an error object", f"{kind} {result}")

    async def works(self, operation: str, **parameters: object) -> None:
        """Raise Mismatch if an operation returns an error object. The document does not specify its result."""
        kind, result = await self.call("User", operation, parameters)
        if isinstance(result, dict) and "error" in result:
            raise self.mismatch(operation, "no error", f"{kind} {result}")

    async def sign_up(self) -> tuple[str, str, str]:
        """Sign a new user up, without activation; return email, password, activation code."""
        email = f"{self._target.identity()}@example.com"
        with set_up("someone who signs up"):
            code = await self.text("createUser", email=email, name="Ann", password=PASSWORD)
        return email, PASSWORD, code

    async def inactive_user(self) -> int:
        """Sign a new user up, without activation; return the id."""
        email, _, _ = await self.sign_up()
        return await self.id_of(email)

    async def person(self) -> Person:
        """Return a new active user."""
        email, password, code = await self.sign_up()
        with set_up("an active user"):
            expect.equal("activateUser", await self.text("activateUser", code=code), "OK", self.last)
        return Person(await self.id_of(email), email, password)

    async def shown(self, email: str) -> Table:
        """Return the only user with this address, as listUsers shows it. Raises Mismatch."""
        found = await self.table("listUsers", filter=f"email::like::{email}")
        fits = [each for each in found if isinstance(each, dict) and each.get("email") == email]
        if len(fits) != 1 or not isinstance(fits[0].get("id"), int):
            raise self.mismatch("listUsers", "the one user, with a whole number as id", found)
        return fits[0]

    async def id_of(self, email: str) -> int:
        """Return the id of the only user with this address. Raises Mismatch."""
        return int((await self.shown(email))["id"])

    async def login(self, person: Person) -> str:
        """Log a user in and return a token."""
        return await self.text("getUserToken", email=person.email, password=person.password)

    async def expect_owner(self, token: str, person: Person) -> None:
        """Raise Mismatch unless a user token or an access token belongs to this person."""
        user = await self.table("getCurrentUser", token=token)
        expect.equal("id of the token's user", user.get("id"), person.id, self.last)

    async def expect_unusable(self, token: str, why: str) -> None:
        """Raise Mismatch if a token belongs to any user. why: the reason why it should not."""
        kind, found = await self.call("User", "getCurrentUser", {"token": token})
        usable = kind not in ("nil", "table") or (isinstance(found, dict) and "id" in found)
        expect.true(f"nothing usable {why}", not usable, f"{kind} {found}", self.last)

    async def _given(self, wanted: str, operation: str, parameters: Table) -> Any:
        kind, result = await self.call("User", operation, parameters)
        if kind != wanted or (isinstance(result, dict) and "error" in result):
            raise self.mismatch(operation, f"a {wanted} that is no error", f"{kind} {result}")
        return result
