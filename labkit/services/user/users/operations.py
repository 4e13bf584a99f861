"""The group Users of the User service (document 2, Users; States and transitions)."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from labkit.core.errors import ServiceError
from labkit.services.addresses import Address
from labkit.services.arguments import Offset, Whole
from labkit.services.operation import Caller, operation
from labkit.services.user import accounts, user_tokens
from labkit.services.user.accounts import ACTIVE, DISABLED, INACTIVE, Id, UserIdentity
from labkit.services.user.group import ACCOUNT
from labkit.services.user.keys import LONGEST_TOKEN
from labkit.services.user.oauth import access_tokens
from labkit.services.user.passwords import GivenPassword, NewPassword
from labkit.services.user.users import filters
from labkit.services.user.users.data import UserData
from labkit.services.user.users.filters import Filters

CODE_LENGTH = 40  # letters and digits, which need no escaping in the path of a link
TIME_TO_LIVE = 7200  # default lifetime of a token, in seconds
MINUTES_TO_LIVE = 480  # the same by `wire.token_minutes`
LONGEST_NAME = 200  # characters
PASSWORD_LENGTH = 16  # letters and digits of a password that is made


def _address_only(value: object) -> object:
    if isinstance(value, str) and "<" in value:
        raise ValueError("expected an address alone, without the name of its owner")
    return value


def _named(name: str) -> str:
    if not name.strip():
        raise ValueError("expected a name")
    if any(letter < " " or "\x7f" <= letter < "\xa0" for letter in name):
        raise ValueError("expected a name without control characters")
    return name


def _status(value: object) -> object:
    if value not in (INACTIVE, ACTIVE, DISABLED):
        raise ValueError(f"expected {ACTIVE} (active), {INACTIVE} (not active) or {DISABLED} (disabled)")
    return value


AccountAddress = Annotated[Address, BeforeValidator(_address_only)]
Folded = Annotated[str, AfterValidator(filters.folded)]
Name = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_named)]
Status = Annotated[Whole, AfterValidator(_status)]
Seconds = Annotated[Whole, Field(ge=1, lt=2**53)]
Limit = Annotated[Whole, Field(ge=1, lt=2**63)]


class Users(UserData):
    """Operations on accounts: sign-up, activation, login, change and deletion."""

    @operation
    async def createUser(
        self, caller: Caller, email: AccountAddress, name: Name, password: NewPassword
    ) -> str:
        """Create an inactive user. Returns the activation code for activateUser, which can be used once.

        The address is compared without letter case; 400 if it is taken. The password has 6 to 1024 characters.
        """
        context = self._context
        code = context.identifiers.alphanumeric(f"{caller.solution}/user/{email}/code", CODE_LENGTH)
        user = await self._run(
            caller,
            accounts.add,
            email,
            name,
            created=context.clock.seconds(),
            password=await self._passwords.hash(password.get_secret_value()),
            activation=_digest(code),
        )
        self._emit(caller, "CREATE", user)
        return code

    @operation
    async def activateUser(self, caller: Caller, code: SecretStr) -> str:
        """Activate the user that createUser made with this code. Returns 'OK'; 400 for an unknown or used code."""
        user = await self._run(caller, accounts.activate, _digest(code.get_secret_value()))
        if user is None:
            raise ServiceError(400, "Activation code is not valid: it is unknown or was used.")
        self._emit_update(caller, user, "activateUser", ["status"])
        return "OK"

    @operation
    async def getUserToken(
        self, caller: Caller, email: Folded, password: GivenPassword, time_to_live: Seconds | None = None
    ) -> str:
        """Log in: return a token for getCurrentUser. time_to_live: seconds, or minutes with `wire.token_minutes`.

        401 if there is no such user or the password is wrong, 400 if the user is not active.
        """
        found = await self._read(caller, accounts.find_by_address, email)
        user, stored = found or (None, None)
        matches = await self._passwords.verify(stored, password.get_secret_value())
        if user is None or not matches:
            raise ServiceError(401, "Email or password is wrong.")
        if user.status != ACTIVE:
            raise ServiceError(400, "User is not active.")
        unit, default = (60, MINUTES_TO_LIVE) if self._context.wire.token_minutes else (1, TIME_TO_LIVE)
        seconds = unit * (default if time_to_live is None else time_to_live)
        return await user_tokens.issue(self._context, self.keys, caller.solution, user, seconds)

    @operation
    async def getCurrentUser(self, caller: Caller, token: SecretStr) -> dict[str, object]:
        """Return the user that a user token or an OAuth access token belongs to. 401 for a token that is not valid.

        Returns `{id, email, name, status, creation_date}`: status is 1, creation_date in Unix seconds.
        """
        given = token.get_secret_value()
        is_access_token = _algorithm(given) == access_tokens.ALGORITHM
        user_of = access_tokens.user_of if is_access_token else user_tokens.user_of
        user = await user_of(self._context, self.keys, caller.solution, given)
        if user is None:
            raise ServiceError(401, "Token is not valid: it is malformed, expired or of no active user.")
        return user.shown()

    @operation
    async def getUser(self, caller: Caller, id: Id) -> dict[str, object]:
        """Return the user with an id: `{id, email, name, status, creation_date}`. 404 if there is none."""
        user = await self._read(caller, accounts.require, id)
        return user.shown()

    @operation
    async def updateUser(
        self,
        caller: Caller,
        id: Id,
        name: Name | None = None,
        status: Status | None = None,
        password: NewPassword | None = None,
        original_password: GivenPassword | None = None,
    ) -> dict[str, object]:
        """Change the given fields of a user: name, status (1 active, 0 not, 2 disabled), password.

        Returns id, email, name, creation_date; no `status`, which scripts would take for an error status. A new
        password needs the original one (400 if it is missing or wrong), and ends all earlier tokens of the user. 404
        if there is no such user.
        """
        hashed = generation = None
        if password is not None:
            generation = await self.verify_original(caller, id, original_password)
            hashed = await self._passwords.hash(password.get_secret_value())
        user = await self._run(
            caller,
            accounts.change,
            id,
            name=name,
            status=status,
            password=hashed,
            generation=generation,
        )
        given = {"name": name, "status": status, "password": password}
        if changed := [field for field, value in given.items() if value is not None]:
            self._emit_update(caller, user, "updateUser", changed)
        return user.changed()

    @operation
    async def deleteUser(self, caller: Caller, id: Id) -> None:
        """Delete a user and everything that belongs to the user. Returns nil; 404 if there is no such user."""
        self._emit(caller, "DELETE", await self._run(caller, accounts.remove, id))

    @operation
    async def delete(self, caller: Caller, id: Id) -> dict[str, object]:
        """Delete a user, as deleteUser (older name). Returns an empty table, which scripts may index."""
        await self.deleteUser(caller, id)
        return {}

    @operation
    async def listUsers(
        self,
        caller: Caller,
        filter: Filters = (),
        offset: Offset | None = None,
        limit: Limit | None = None,
    ) -> object:
        """List the users that match all filters. A filter is text `field::operator::value`; give one or a list.

        Fields: id, email, name, status, creation_date. Operators: eq, ne, gt, ge, lt, le, in (values with commas
        between them) and like (part of the value, in any letter case; `%` matches any text, `_` any character).
        Exact matches of a like come first, then by id. Addresses are compared as at login: without letter case. At most
        1000 without a limit. With `wire.user_pages`, a call with offset and limit returns {items, total}.
        """
        conditions = await filters.conditions(filter)
        found = await self._read(caller, filters.matching_users, conditions, offset or 0, limit or 1000)
        users = [user.shown() for user in found]
        if None in (offset, limit) or not self._context.wire.user_pages:
            return users
        return {"items": users, "total": await self._read(caller, filters.count_users, conditions)}

    @operation
    async def resetUserPassword(
        self, caller: Caller, id: Id, password: NewPassword | None = None
    ) -> dict[str, object]:
        """Set a user's password, which ends all earlier tokens of the user. Returns id, email, name, creation_date.

        Without a password, makes one and returns {password}. 404 if there is no such user. The result has no `status`,
        which scripts would take for an error status.
        """
        await self._read(caller, accounts.require, id)
        if password is None:
            actor = f"{caller.solution}/user/{id}/password"
            given = self._context.identifiers.alphanumeric(actor, PASSWORD_LENGTH)
        else:
            given = password.get_secret_value()
        user = await self._run(caller, accounts.change, id, password=await self._passwords.hash(given))
        self._emit_update(caller, user, "resetUserPassword", ["password"])
        return {"password": given} if password is None else user.changed()

    async def verify_original(self, caller: Caller, id: int, original: SecretStr | None) -> int:
        """Verify the original password and return its generation. Raises ServiceError 400 if it is missing or wrong."""
        if original is None:
            raise ServiceError(400, "Parameter original_password is required to change the password.")
        user, kept = await self._read(caller, accounts.find_password, id)
        if not await self._passwords.verify(kept, original.get_secret_value()):
            raise ServiceError(400, "Parameter original_password is not the user's password.")
        return user.generation

    def _emit_update(self, caller: Caller, user: UserIdentity, operation: str, changed: list[str]) -> None:
        """Raise the event `account` for a change. changed: the fields that the operation set."""
        self._emit(caller, "UPDATE", user, operation=operation, changed=changed)

    def _emit(self, caller: Caller, type: str, user: UserIdentity, **more: object) -> None:
        """Raise the event `account`. more: further fields of its payload."""
        payload = {"type": type, "id": user.id, "email": user.email, "solution_id": caller.solution, **more}
        self._context.events.emit(
            f"{caller.solution}/user",
            [(ACCOUNT, lambda: payload, None)],
            cause=caller.cause,
            solution=caller.solution,
        )


def _algorithm(token: str) -> object:
    """Return the unverified `alg` of a token, to choose its verifier; None if it is not a JWT. Faster than PyJWT."""
    if len(token) > LONGEST_TOKEN:
        return None
    try:
        return json.loads(urlsafe_b64decode(token.partition(".")[0] + "=="))["alg"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _digest(code: str) -> str:
    """Return the digest of an activation code. A random code needs no slow hash, unlike a password."""
    return hashlib.sha256(code.encode(errors="surrogatepass")).hexdigest()
