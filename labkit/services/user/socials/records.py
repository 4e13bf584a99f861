"""The database tables of the group Socials: configurations of social logins, and the tokens of their logins.

A login by OAuth 2 stores its state; a login by OAuth 1 stores its request token, and then its access token, each with
its secret. They are deleted with the social.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKeyConstraint,
    String,
    Table,
    and_,
    delete,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert

from labkit.core.errors import ServiceError
from labkit.services.user.errors import unknown
from labkit.storage.schema import metadata, texts

LIFETIME = 600  # seconds until a pending login expires; access tokens do not expire

Kind = Literal["state", "request_token", "access_token"]

social_table = Table(
    "social",
    metadata,
    Column("solution", String, primary_key=True),
    Column("folded", String, primary_key=True),  # the consumer's name case-folded, for comparison
    *texts("consumer"),
    Column("scope", JSON, nullable=False),
    *texts("redirect", "client_id"),
    Column("client_secret", String, nullable=False, info={"secret": True}),
)

login_table = Table(
    "social_login",
    metadata,
    *texts("solution", "folded", "kind", key=True),
    Column("value", String, primary_key=True, info={"secret": True}),  # state or token that scripts send
    Column("token", String, nullable=False, info={"secret": True}),  # OAuth 1: the provider's own token
    Column("secret", String, nullable=False, info={"secret": True}),  # OAuth 1: the secret of the token
    Column("dead_at", Float),  # lab time; None: never
    ForeignKeyConstraint(["solution", "folded"], ["social.solution", "social.folded"], ondelete="CASCADE"),
)


@dataclass(frozen=True, slots=True)
class Social:
    """Registration of a solution with an identity provider (document 2, Records: social)."""

    scope: tuple[str, ...]
    consumer: str
    redirect: str
    client_id: str
    client_secret: str = field(repr=False)

    def shown(self) -> dict[str, object]:
        """Return the social in the format of operations' results, with its secret."""
        return {
            "scope": list(self.scope),
            "consumer": self.consumer,
            "redirect": self.redirect,
            "client_id": self.client_id,
            "client_secret": self.client_secret,
        }


@dataclass(frozen=True, slots=True)
class Oauth1Token:
    """Token of OAuth 1 and its secret."""

    token: str = field(repr=False)
    secret: str = field(repr=False)


def add(connection: Connection, solution: str, social: Social) -> None:
    """Store a new social. Raises ServiceError 409 if the consumer has one, in any letter case."""
    row = {"solution": solution, "folded": social.consumer.casefold(), **social.shown()}
    added = upsert(social_table).values(row).on_conflict_do_nothing()
    if not connection.execute(added).rowcount:
        raise ServiceError(409, f"Social {social.consumer} already exists.")


def change(connection: Connection, solution: str, consumer: str, values: Mapping[str, object]) -> None:
    """Change some fields of a social. Raises ServiceError 404 if there is none."""
    require(connection, solution, consumer)
    if values:
        connection.execute(update(social_table).where(of_consumer(solution, consumer)).values(**values))


def remove(connection: Connection, solution: str, consumer: str) -> None:
    """Delete a social with the tokens of its logins. Raises ServiceError 404 if there is none."""
    require(connection, solution, consumer)
    connection.execute(delete(social_table).where(of_consumer(solution, consumer)))


def require(connection: Connection, solution: str, consumer: str) -> Social:
    """Return the social of a consumer, in any letter case. Raises ServiceError 404 if there is none."""
    row = connection.execute(_socials.where(of_consumer(solution, consumer))).first()
    if row is None:
        raise unknown("Social", consumer)
    return Social(tuple(row[0]), *row[1:])


def all_socials(connection: Connection, solution: str) -> list[Social]:
    """Return all socials of a solution, by name."""
    rows = connection.execute(
        _socials.where(social_table.c.solution == solution).order_by(social_table.c.folded)
    )
    return [Social(tuple(row[0]), *row[1:]) for row in rows]


_socials = select(
    social_table.c.scope,
    social_table.c.consumer,
    social_table.c.redirect,
    social_table.c.client_id,
    social_table.c.client_secret,
)


def of_consumer(solution: str, consumer: str) -> ColumnElement[bool]:
    """Return a condition that selects the social of a consumer, in any letter case."""
    return and_(social_table.c.solution == solution, social_table.c.folded == consumer.casefold())


# ---- logins


class Login(NamedTuple):
    """Key of a stored login token. value: the state or token that scripts and callbacks send."""

    solution: str
    consumer: str
    kind: Kind
    value: str


def store(connection: Connection, login: Login, token: Oauth1Token, now: float) -> None:
    """Store a token for the lifetime of its kind, and delete all expired tokens.

    Raises ServiceError 404 if the social was deleted during the request to its provider.
    """
    require(connection, login.solution, login.consumer)
    connection.execute(delete(login_table).where(login_table.c.dead_at <= now))
    dead_at = None if login.kind == "access_token" else now + LIFETIME
    values = {"token": token.token, "secret": token.secret, "dead_at": dead_at}
    statement = upsert(login_table).values({**_key(login), **values})
    connection.execute(statement.on_conflict_do_update(set_=values))


def find(connection: Connection, login: Login, now: float) -> Oauth1Token | None:
    """Return a stored token; None if it is missing or expired."""
    columns = login_table.c
    row = connection.execute(select(columns.token, columns.secret).where(*alive(login, now))).first()
    return None if row is None else Oauth1Token(*row)


def consume(connection: Connection, login: Login, now: float) -> Oauth1Token | None:
    """Delete a stored token and return it; None if it is missing or expired."""
    columns = login_table.c
    row = connection.execute(
        delete(login_table).where(*alive(login, now)).returning(columns.token, columns.secret)
    ).first()
    return None if row is None else Oauth1Token(*row)


def alive(login: Login, now: float) -> list[ColumnElement[bool]]:
    """Return conditions that select a stored login token that is not expired."""
    columns = login_table.c
    return [
        *(columns[name] == value for name, value in _key(login).items()),
        or_(columns.dead_at.is_(None), columns.dead_at > now),
    ]


def _key(login: Login) -> dict[str, str]:
    return {
        "solution": login.solution,
        "folded": login.consumer.casefold(),
        "kind": login.kind,
        "value": login.value,
    }
