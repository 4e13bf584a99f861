"""The clients of the OAuth provider (document 2, Records: oauth client).

A client belongs to a user. Deleting a client deletes its codes and tokens; its row stays, marked as revoked, and no
operation shows it.
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
    Index,
    Integer,
    String,
    Table,
    insert,
    update,
)

from labkit.services.redaction import InJournal, urls
from labkit.services.user.accounts import belongs_to_user, next_id, require
from labkit.services.user.errors import unknown
from labkit.services.user.oauth.approvals import revoke_client
from labkit.storage.database import execute
from labkit.storage.schema import metadata, numbers, texts

client_table = Table(
    "oauth_client",
    metadata,
    Column("solution", String, primary_key=True),
    Column("id", Integer, primary_key=True),
    *texts("name"),
    # Plain text, since operations return it; empty once the client is revoked.
    Column("secret", String, nullable=False, info={"secret": True}),
    Column("revoked", Boolean, nullable=False),
    *numbers("user_id"),
    *texts("redirect"),  # URIs, separated by commas
    *texts("created_at", "updated_at"),
    belongs_to_user(),
    Index("oauth_client_of_user", "solution", "user_id", "id"),
)

MOST_REDIRECTS = 50
# The characters of a URI (RFC 3986, 2) except `#`, which would begin a fragment, and the comma, which separates URIs.
URI = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+;=%]+")


def _listed(value: object) -> object:
    """Return URIs as a list; a text may contain several, separated by commas."""
    number = (
        value.count(",") + 1
        if isinstance(value, str)
        else len(value)
        if isinstance(value, list | tuple)
        else 1
    )
    if number > MOST_REDIRECTS:  # checked before the URIs are parsed
        raise ValueError(f"expected at most {MOST_REDIRECTS}, not {number}")
    if isinstance(value, str):
        return [each.strip() for each in value.split(",")]
    return value


def _absolute(uri: str) -> str:
    """Return a valid redirect URI. Raises ValueError if it is invalid.

    It is absolute, without a fragment (RFC 6749, 3.1.2); a private scheme is a reversed domain name (RFC 8252, 7.1).
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
    """OAuth client that is not deleted."""

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
        """Redirect URIs, in the order of their registration."""
        return self.redirect.split(",")

    def shown(self) -> dict[str, object]:
        """Return the client in the format of operations' results. The flags of unsupported kinds are always false."""
        return {**self._asdict(), "password_client": False, "personal_access_client": False}

    def path(self, index: int) -> str | None:
        """Return the path of the solution's approval page for this client; None if there is no redirect `index`."""
        if index >= len(self.redirects):
            return None
        redirect = quote(self.redirects[index], safe="")
        return f"/authorize_approved?client_id={self.id}&redirect_uri={redirect}&response_type=code&scope="


# Every approval reads its client, so these statements bypass SQLAlchemy for speed.
_SELECT = f"SELECT {', '.join(OauthClient._fields)} FROM oauth_client WHERE solution = ? AND NOT revoked"
GET = f"{_SELECT} AND id = ?"
OF_USER = f"{_SELECT} AND user_id = ? ORDER BY id"


def create(
    connection: Connection,
    solution: str,
    user_id: int,
    name: str,
    redirects: Iterable[str],
    secret: str,
    now: int,
) -> OauthClient:
    """Register a client of a user. Raises ServiceError 404 if there is no such user."""
    require(connection, solution, user_id)
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

    Raises ServiceError 404 if there is no such user, or the client is not the user's.
    """
    return update_client(connection, solution, user_id, id, now, name=name, redirect=",".join(redirects))


def revoke(connection: Connection, solution: str, user_id: int, id: int, now: int) -> None:
    """Delete a user's client with its codes and tokens. Raises ServiceError as `change` does."""
    update_client(connection, solution, user_id, id, now, revoked=True, secret="")
    revoke_client(connection, solution, id)


def of_user(connection: Connection, solution: str, user_id: int) -> list[OauthClient]:
    """Return the clients of a user. Raises ServiceError 404 if there is no such user."""
    require(connection, solution, user_id)
    return _read(connection, OF_USER, solution, user_id)


def get(connection: Connection, solution: str, id: int) -> OauthClient | None:
    """Return the client with an id, of any user; None if it is missing or deleted."""
    found = _read(connection, GET, solution, id)
    return found[0] if found else None


def update_client(
    connection: Connection, solution: str, user_id: int, id: int, now: int, **values: Any
) -> OauthClient:
    """Change columns of a user's client and return the client. Raises ServiceError as `change` does."""
    require(connection, solution, user_id)
    client = get(connection, solution, id)
    if client is None or client.user_id != user_id:
        raise unknown("OAuth client", id)
    values["updated_at"] = shown_time(now)
    columns = client_table.c
    connection.execute(
        update(client_table).where(columns.solution == solution, columns.id == id).values(values)
    )
    return client._replace(**values)


def _read(connection: Connection, query: str, solution: str, id: int) -> list[OauthClient]:
    rows = execute(connection, query, (solution, id))
    return [OauthClient(*row)._replace(revoked=False) for row in rows]  # SQLite returns booleans as integers


def shown_time(now: int) -> str:
    """Return Unix seconds as `YYYY-MM-DD hh:mm:ss` in UTC."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M:%S")
