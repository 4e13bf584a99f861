"""Data that a solution stores with a user: values by key, deleted with the user at the latest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Delete,
    Integer,
    String,
    Table,
    Update,
    delete,
    func,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert

from labkit.core.errors import ServiceError
from labkit.services.arguments import as_list
from labkit.services.operation import Caller, operation
from labkit.services.user.accounts import Id, Text, belongs_to_user, require
from labkit.services.user.group import Group
from labkit.storage.schema import metadata, texts

LONGEST_KEY = 200  # characters
LARGEST_VALUE = 256 * 1024  # characters of JSON
MOST_VALUES = 1000  # values of a user
WRAPPER = "key values"  # argument of createUserStorage and updateUserStorage: an object of all values

data_table = Table(
    "user_data",
    metadata,
    Column("solution", String, primary_key=True),
    Column("user_id", Integer, primary_key=True),
    Column("key", String, primary_key=True),
    *texts("value"),  # JSON
    belongs_to_user(),
)


Keys = Annotated[Sequence[Text], BeforeValidator(as_list)]


class UserData(Group):
    """Operations on a user's data (a part of the group Users)."""

    @operation
    async def createUserData(self, caller: Caller, /, id: Id, **values: object) -> dict[str, object]:
        """Store new values with a user: each further argument is a key and its value. Returns these values.

        400 if one of the keys exists, there is none, or the user would have more than 1000: then nothing is stored.
        404 if there is no such user.
        """
        await self._run(caller, create, id, _encoded(values))
        return values

    @operation
    async def updateUserData(self, caller: Caller, /, id: Id, **values: object) -> dict[str, object]:
        """Replace values of a user: each further argument is a key and its new value. Returns these values.

        400 if one of the keys does not exist: then nothing is replaced. 404 if there is no such user.
        """
        await self._run(caller, _update, id, _encoded(values))
        return values

    @operation
    async def listUserData(self, caller: Caller, id: Id) -> dict[str, Any]:
        """Return all data of a user: key → value. 404 if there is no such user."""
        found = await self._read(caller, _found, id)
        return {key: json.loads(value) for key, value in found.items()}

    @operation
    async def getUserData(self, caller: Caller, id: Id, key: Text) -> Any:
        """Return one value of a user's data. 404 if there is no such user or key."""
        found = await self._read(caller, _found, id)
        if key not in found:
            raise ServiceError(404, f"User {id} has no data with the key {key[:LONGEST_KEY]!r}.")
        return json.loads(found[key])

    @operation
    async def deleteUserData(self, caller: Caller, id: Id, keys: Keys) -> dict[str, object]:
        """Delete values of a user: one key or a list of keys. Returns these values by key.

        404 if there is no such user or one of the keys is missing: then nothing is deleted.
        """
        found = await self._run(caller, _delete, id, set(keys))
        return {key: json.loads(value) for key, value in found.items()}

    @operation
    async def createUserStorage(self, caller: Caller, /, id: Id, **values: object) -> dict[str, object]:
        """Store new values with a user, as createUserData (older name). Returns these values.

        The values may also be given in one object, as the argument `key values`.
        """
        given = _unwrapped(values)
        await self._run(caller, create, id, _encoded(given))
        return dict(given)

    @operation
    async def updateUserStorage(self, caller: Caller, /, id: Id, **values: object) -> dict[str, object]:
        """Replace values of a user, as updateUserData (older name). Returns these values.

        The values may also be given in one object, as the argument `key values`.
        """
        given = _unwrapped(values)
        await self._run(caller, _update, id, _encoded(given))
        return dict(given)


def _unwrapped(values: Mapping[str, object]) -> Mapping[str, object]:
    within = values.get(WRAPPER)
    return within if isinstance(within, Mapping) else values


def _encoded(values: Mapping[str, object]) -> dict[str, str]:
    """Return values as JSON text by key. Raises ServiceError 400 for an invalid key or value."""
    return {_key(key): _json(key, value) for key, value in values.items()}


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise ServiceError(400, "A data key is no text.")
    if not 1 <= len(key) <= LONGEST_KEY or not key.isprintable():
        raise ServiceError(
            400, f"Data key {key[:LONGEST_KEY]!r}: expected 1 to {LONGEST_KEY} printable characters."
        )
    return key


def _json(key: str, value: object) -> str:
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ServiceError(400, f"Parameter {key} validation failed: expected a JSON value.") from None
    if len(text) > LARGEST_VALUE:
        raise ServiceError(
            400, f"Parameter {key} validation failed: expected at most {LARGEST_VALUE} characters of JSON."
        )
    return text


def create(connection: Connection, solution: str, id: int, values: Mapping[str, str]) -> None:
    """Store new values of a user. Raises ServiceError 404 or 400, as createUserData does."""
    require(connection, solution, id)
    if not values:
        raise ServiceError(400, "Expected at least one key and its value.")
    added = {
        key: insert(data_table).values(solution=solution, user_id=id, key=key, value=value)
        for key, value in values.items()
    }
    present = {
        key for key, each in added.items() if not connection.execute(each.on_conflict_do_nothing()).rowcount
    }
    if present:
        raise ServiceError(400, f"User {id} has data with the key {_names(present)} already.")
    kept = connection.execute(select(func.count()).where(*_of(solution, id))).scalar_one()
    if kept > MOST_VALUES:
        raise ServiceError(400, f"User {id} would have {kept} data keys, expected at most {MOST_VALUES}.")


def _update(connection: Connection, solution: str, id: int, values: Mapping[str, str]) -> None:
    require(connection, solution, id)
    changed = {
        key: update(data_table).where(*_of(solution, id), data_table.c.key == key).values(value=value)
        for key, value in values.items()
    }
    execute_for_keys(connection, id, changed, 400)


def _delete(connection: Connection, solution: str, id: int, keys: set[str]) -> dict[str, str]:
    """Delete data of a user, and return it: key → JSON of its value. Raises ServiceError 404 for a missing key."""
    found = _found(connection, solution, id)
    execute_for_keys(
        connection,
        id,
        {key: delete(data_table).where(*_of(solution, id), data_table.c.key == key) for key in keys},
        404,
    )
    return {key: value for key, value in found.items() if key in keys}


def execute_for_keys(
    connection: Connection, id: int, statements: Mapping[str, Update | Delete], status: int
) -> None:
    """Run a statement for each key. Raises ServiceError with `status` where a statement affects no row."""
    missing = {key for key, each in statements.items() if not connection.execute(each).rowcount}
    if missing:
        raise ServiceError(status, f"User {id} has no data with the key {_names(missing)}.")


def _found(connection: Connection, solution: str, id: int) -> dict[str, str]:
    """Return the data of a user: key → JSON of its value. Raises ServiceError 404 if there is no such user."""
    require(connection, solution, id)
    columns = data_table.c
    rows = connection.execute(
        select(columns.key, columns.value).where(*_of(solution, id)).order_by(columns.key)
    )
    return {row.key: row.value for row in rows}


def _of(solution: str, id: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return data_table.c.solution == solution, data_table.c.user_id == id


def _names(keys: set[str]) -> str:
    first, *others = sorted(keys)
    return f"{first[:LONGEST_KEY]!r}{f' and {len(others)} more' if others else ''}"
