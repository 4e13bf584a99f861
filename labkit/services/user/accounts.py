"""The user accounts of a solution (document 2, Records: user; States and transitions), and how they are looked up.

Ids count from 1 in each solution and are never used again. Rows that belong to a user refer to it by a foreign key
that cascades, so they are deleted with the user.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKeyConstraint,
    Integer,
    String,
    Table,
    UniqueConstraint,
    delete,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert

from labkit.core.errors import ServiceError
from labkit.services.arguments import VALID, Whole
from labkit.services.user.errors import unknown
from labkit.storage.database import execute
from labkit.storage.schema import metadata, numbers, texts

INACTIVE, ACTIVE, DISABLED = 0, 1, 2

user_table = Table(
    "user",
    metadata,
    Column("solution", String, primary_key=True),
    Column("id", Integer, primary_key=True),
    *texts("email"),
    *texts("folded"),  # the address case-folded, for comparison
    *texts("name"),
    *texts("folded_name"),  # the name case-folded, for searches
    *numbers("status"),
    *numbers("creation_date"),  # Unix seconds
    Column("password", String, nullable=False, info={"secret": True}),  # Argon2id
    # Number of password changes; tokens issued for an earlier password are invalid.
    *numbers("generation"),
    Column("activation", String, info={"secret": True}),  # hash of the code, until the user is active
    UniqueConstraint("solution", "folded"),
    UniqueConstraint("solution", "activation"),
)

counter_table = Table(
    "user_counter",
    metadata,
    *texts("solution", "kind", key=True),
    *numbers("last"),
)


def belongs_to_user() -> ForeignKeyConstraint:
    """Return the foreign key of a table with columns `solution` and `user_id`, whose rows are deleted with the user."""
    return ForeignKeyConstraint(["solution", "user_id"], ["user.solution", "user.id"], ondelete="CASCADE")


Text = Annotated[str, VALID]
Id = Annotated[Whole, Field(ge=0, lt=2**63)]


class UserIdentity(NamedTuple):
    """User without password and activation code. generation: number of password changes."""

    id: int
    email: str
    name: str
    status: int
    creation_date: int
    generation: int

    def shown(self) -> dict[str, object]:
        """Return the user in the format of operations' results."""
        return {
            "id": self.id,
            "email": self.email,
            "name": self.name,
            "status": self.status,
            "creation_date": self.creation_date,
        }

    def changed(self) -> dict[str, object]:
        """Return the user as the result of a change: without `status`, which scripts would take for an error status."""
        return {name: value for name, value in self.shown().items() if name != "status"}


# Every login and token check reads a user, so these statements bypass SQLAlchemy for speed.
GET = f"SELECT {', '.join(UserIdentity._fields)} FROM user WHERE solution = ? AND id = ?"
BY_ADDRESS = f"SELECT {', '.join(UserIdentity._fields)}, password FROM user WHERE solution = ? AND folded = ?"

NEXT = (
    "INSERT INTO user_counter (solution, kind, last) VALUES (?, ?, 1) "
    "ON CONFLICT (solution, kind) DO UPDATE SET last = last + 1 RETURNING last"
)


def get(connection: Connection, solution: str, id: int) -> UserIdentity | None:
    """Return the user with an id, active or not; None if there is none."""
    row = execute(connection, GET, (solution, id)).fetchone()
    return None if row is None else UserIdentity(*row)


def find_by_address(connection: Connection, solution: str, folded: str) -> tuple[UserIdentity, str] | None:
    """Return the user with an email address and the hash of the password; None if there is none.

    folded: the address case-folded, as the column `folded` stores it.
    """
    row = execute(connection, BY_ADDRESS, (solution, folded)).fetchone()
    return None if row is None else (UserIdentity(*row[:-1]), row[-1])


def require(connection: Connection, solution: str, id: int) -> UserIdentity:
    """Return the user with an id. Raises ServiceError 404 if there is none."""
    user = get(connection, solution, id)
    if user is None:
        raise unknown("User", id)
    return user


def add(
    connection: Connection,
    solution: str,
    email: str,
    name: str,
    *,
    created: int,
    password: str,
    activation: str | None = None,
) -> UserIdentity:
    """Add a user, inactive if there is an activation code, else active.

    created: Unix seconds; password: its Argon2id hash; activation: hash of the code. Raises ServiceError 400 if
    the address is taken.
    """
    folded = email.casefold()
    status = ACTIVE if activation is None else INACTIVE
    user = UserIdentity(next_id(connection, solution, "user"), email, name, status, created, 0)
    added = insert(user_table).values(
        solution=solution,
        folded=folded,
        folded_name=name.casefold(),
        password=password,
        activation=activation,
        **user._asdict(),
    )
    if not connection.execute(added.on_conflict_do_nothing(index_elements=["solution", "folded"])).rowcount:
        raise ServiceError(400, f"Email {email} is already taken.")
    return user


def activate(connection: Connection, solution: str, activation: str) -> UserIdentity | None:
    """Activate the user with this activation code and delete the code. Returns None for an unknown code.

    activation: hash of the code.
    """
    columns = user_table.c
    activated = connection.execute(
        update(user_table)
        .where(columns.solution == solution, columns.activation == activation)
        .values(status=ACTIVE, activation=None)
        .returning(*(columns[name] for name in UserIdentity._fields))
    ).first()
    return None if activated is None else UserIdentity(*activated)


def find_password(connection: Connection, solution: str, id: int) -> tuple[UserIdentity, str]:
    """Return a user and the hash of the password. Raises ServiceError 404 if there is no such user."""
    user = require(connection, solution, id)
    kept = select(user_table.c.password).where(*_row(solution, id))
    return user, str(connection.execute(kept).scalar_one())


def change(
    connection: Connection,
    solution: str,
    id: int,
    *,
    name: str | None = None,
    status: int | None = None,
    password: str | None = None,
    generation: int | None = None,
) -> UserIdentity:
    """Change the given fields of a user. Raises ServiceError 404 if there is no such user.

    password: hash of a new password, which invalidates all earlier tokens; generation: of the password that the caller
    verified. Raises ServiceError 400 if the password was changed since.
    """
    require(connection, solution, id)
    columns = user_table.c
    values: dict[str, object] = {}
    if name is not None:
        values.update(name=name, folded_name=name.casefold())
    if status is not None:
        values.update(status=status)
    if status == ACTIVE:  # the code must not activate the user again after a later deactivation
        values.update(activation=None)
    if password is not None:
        values.update(password=password, generation=columns.generation + 1)
    if values:
        unchanged = [] if generation is None else [columns.generation == generation]
        changed = update(user_table).where(*_row(solution, id), *unchanged).values(values)
        if not connection.execute(changed).rowcount:
            raise ServiceError(
                400, "Parameter original_password is no longer the password: it was just changed."
            )
    return require(connection, solution, id)


def remove(connection: Connection, solution: str, id: int) -> UserIdentity:
    """Delete a user and everything that belongs to it. Raises ServiceError 404 if there is no such user."""
    user = require(connection, solution, id)
    connection.execute(delete(user_table).where(*_row(solution, id)))
    return user


def _row(solution: str, id: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return user_table.c.solution == solution, user_table.c.id == id


def next_id(connection: Connection, solution: str, kind: str) -> int:
    """Return the next unused id of a kind (`user`, `client`) in a solution; ids count from 1 and are never reused."""
    ((last,),) = execute(connection, NEXT, (solution, kind)).fetchall()
    return int(last)
