"""The clients of the OAuth provider (document 2, Records: oauth client).

A client belongs to the user who registered it. A deleted one stays as a revoked row that no operation shows; its
codes and tokens are deleted with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Integer,
    String,
    Table,
    insert,
    update,
)

from labkit.core.database import execute
from labkit.core.tables import metadata
from labkit.services.redaction import InJournal, urls
from labkit.services.user.accounts import belongs_to_user, known, next_id
from labkit.services.user.errors import unknown
from labkit.services.user.oauth.approvals import revoke_client

client_table = Table(
    "oauth_client",
    metadata,
    Column("solution", String, primary_key=True),
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column(
        "secret", String, nullable=False, info={"secret": True}
    ),  # readable, since operations return it; blank once revoked
    Column("revoked", Boolean, nullable=False),
    Column("user_id", Integer, nullable=False),
    Column("redirect", String, nullable=False),  # one URI, or several with commas between them
    Column("created_at", String, nullable=False),
    Column("updated_at", String, nullable=False),
    belongs_to_user(),
)

MOST_REDIRECTS = 50
# The characters of a URI (RFC 3986, 2) without `#`, which would begin a fragment, and without the comma, which
# stands between two of them.
URI = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+;=%]+")


def _listed(value: object) -> object:
    """Return URIs as a list: they are given as one, or as a text with commas between them."""
    number = (
        value.count(",") + 1
        if isinstance(value, str)
        else len(value)
        if isinstance(value, list | tuple)
        else 1
    )
    if number > MOST_REDIRECTS:  # before any is looked at
        raise ValueError(f"expected at most {MOST_REDIRECTS}, not {number}")
    if isinstance(value, str):
        return [each.strip() for each in value.split(",")]
    return value


def _absolute(uri: str) -> str:
    """Return a valid redirect URI. Raises ValueError for another.

    RFC 6749, 3.1.2: absolute, without a fragment; RFC 8252, 7.1: a private scheme is a domain name reversed.
    """
    if not URI.fullmatch(uri):
        raise ValueError("expected an absolute URI without a fragment")
    parts = urlsplit(uri)
    web = parts.scheme in ("http", "https")
    if not (parts.hostname if web else "." in parts.scheme):
        raise ValueError("expected an https, http or reverse.domain.name: URI")
    return uri


Redirects = Annotated[
    tuple[Annotated[str, Field(max_length=2000), AfterValidator(_absolute)], ...],
    BeforeValidator(_listed),
    Field(min_length=1),
    InJournal(urls),
]


class OauthClient(NamedTuple):
    """A client that is not deleted."""

    id: int
    name: str
    secret: str
    revoked: bool
    user_id: int
    redirect: str
    created_at: str
    updated_at: str

    @property
    def redirects(self) -> list[str]:
        """The redirect URIs, in the order of their registration."""
        return self.redirect.split(",")

    def shown(self) -> dict[str, object]:
        """Return the client as operations return it. The flags of the two kinds that a lab never creates are false."""
        return {**self._asdict(), "password_client": False, "personal_access_client": False}

    def path(self, index: int) -> str | None:
        """Return the path where a solution asks its user to approve this client; None without a redirect `index`."""
        if index >= len(self.redirects):
            return None
        redirect = quote(self.redirects[index], safe="")
        return f"/authorize_approved?client_id={self.id}&redirect_uri={redirect}&response_type=code&scope="


# Every approval reads its client, so these statements go straight to the driver.
_LIVING = f"SELECT {', '.join(OauthClient._fields)} FROM oauth_client WHERE solution = ? AND NOT revoked"
GET = f"{_LIVING} AND id = ?"
OF_USER = f"{_LIVING} AND user_id = ? ORDER BY id"


def create(
    connection: Connection,
    solution: str,
    user_id: int,
    name: str,
    redirects: Iterable[str],
    secret: str,
    now: int,
) -> OauthClient:
    """Register a client of a user. Raises ServiceError 404 where there is no such user."""
    known(connection, solution, user_id)
    client = OauthClient(
        id=next_id(connection, solution, "client"),
        name=name,
        secret=secret,
        revoked=False,
        user_id=user_id,
        redirect=",".join(redirects),
        created_at=shown_time(now),
        updated_at=shown_time(now),
    )
    connection.execute(insert(client_table).values(solution=solution, **client._asdict()))
    return client


def change(
    connection: Connection,
    solution: str,
    user_id: int,
    id: int,
    name: str,
    redirects: Iterable[str],
    now: int,
) -> OauthClient:
    """Replace the name and redirects of a user's client.

    Raises ServiceError 404 where there is no such user, or the client is not the user's.
    """
    return update_client(connection, solution, user_id, id, now, name=name, redirect=",".join(redirects))


def revoke(connection: Connection, solution: str, user_id: int, id: int, now: int) -> None:
    """Delete a user's client with its codes and tokens. Raises as `change`."""
    update_client(connection, solution, user_id, id, now, revoked=True, secret="")
    revoke_client(connection, solution, id)


def of_user(connection: Connection, solution: str, user_id: int) -> list[OauthClient]:
    """Return the clients of a user. Raises ServiceError 404 where there is no such user."""
    known(connection, solution, user_id)
    return _living(connection, OF_USER, solution, user_id)


def get(connection: Connection, solution: str, id: int) -> OauthClient | None:
    """Return the client with an id, of any user; None where there is none, or it is deleted."""
    found = _living(connection, GET, solution, id)
    return found[0] if found else None


def update_client(
    connection: Connection, solution: str, user_id: int, id: int, now: int, **values: Any
) -> OauthClient:
    """Change columns of a user's client and return it. Raises as `change`."""
    known(connection, solution, user_id)
    client = get(connection, solution, id)
    if client is None or client.user_id != user_id:
        raise unknown("OAuth client", id)
    values["updated_at"] = shown_time(now)
    columns = client_table.c
    connection.execute(
        update(client_table).where(columns.solution == solution, columns.id == id).values(values)
    )
    return client._replace(**values)


def _living(connection: Connection, query: str, solution: str, named: int) -> list[OauthClient]:
    rows = execute(connection, query, (solution, named))
    return [OauthClient(*row)._replace(revoked=False) for row in rows]  # the driver knows no booleans


def shown_time(now: int) -> str:
    """Return Unix seconds as `YYYY-MM-DD hh:mm:ss` in UTC."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M:%S")
