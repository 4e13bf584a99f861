"""Tables of the bindings, and the queries that select bindings for a send or a list (document 3, Notify binding).

`messaging_tag` has a row for each tag of a binding, implicit tags included; `messaging_tag_count` has the number of
bindings per tag. So a search by tags begins with the rarest tag, and its cost depends on that tag's bindings, not on
all. The statements are written by hand, since a search has one term for each of its tags.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, ForeignKey, Index, Integer, PrimaryKeyConstraint, String, Table

from labkit.providers.messaging.errors import ApiError
from labkit.storage.database import execute, execute_many
from labkit.storage.schema import metadata, numbers, texts

TYPES = ("apn", "fcm", "gcm", "sms", "chat-messenger")
IMPLICIT = frozenset({"all", *TYPES})
PER_IDENTITY = 20  # bindings that one identity may have in a service

binding_table = Table(
    "messaging_binding",
    metadata,
    Column("position", Integer, primary_key=True),  # counts up, in the order of creation
    Column("sid", String, nullable=False, unique=True),
    *texts("account", "service", "identity", "endpoint", "type", "address"),
    Column("credential", String),
    Column("protocol", String),
    *texts("tags"),  # JSON: the explicit tags, in the order of the request
    *numbers("created"),  # Unix seconds
    Index("messaging_binding_identity", "service", "identity"),
    Index("messaging_binding_endpoint", "service", "endpoint", unique=True),
    Index("messaging_binding_position", "service", "position"),
)

tag_table = Table(
    "messaging_tag",
    metadata,
    *texts("service", "tag"),
    Column("binding", ForeignKey("messaging_binding.position", ondelete="CASCADE"), nullable=False),
    PrimaryKeyConstraint("service", "tag", "binding"),
    Index("messaging_tag_binding", "binding"),
    sqlite_with_rowid=False,
)

tag_count_table = Table(
    "messaging_tag_count",
    metadata,
    *texts("service", "tag"),
    *numbers("bindings"),
    PrimaryKeyConstraint("service", "tag"),
    sqlite_with_rowid=False,
)

COLUMNS = "sid account service identity endpoint type address credential protocol tags created".split()
BINDING = ", ".join(f"b.{each}" for each in COLUMNS)  # in the order of Binding's fields, without the position


@dataclass(frozen=True, slots=True)
class Binding:
    """Delivery address of an endpoint of an identity. created: Unix seconds; position: counts up, in creation order."""

    sid: str
    account: str
    service: str
    identity: str
    endpoint: str
    type: str
    address: str
    credential: str | None
    protocol: str | None
    tags: tuple[str, ...]
    created: int
    position: int = 0


class Target(NamedTuple):
    """The fields of a binding that a delivery needs; a send may select thousands of bindings."""

    sid: str
    identity: str
    type: str
    address: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Filter of a send or a list: bindings of any of the identities, with all of the tags. Both may be empty.

    since, before: bounds of a binding's creation, in Unix seconds.
    """

    identities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: int | None = None
    before: int | None = None


def create(connection: Connection, binding: Binding) -> None:
    """Store a binding, in place of one with the same endpoint. Raises ApiError 400 if the identity has too many."""
    service = binding.service
    replaced = execute(
        connection,
        "SELECT sid FROM messaging_binding WHERE service = ? AND endpoint = ?",
        (service, binding.endpoint),
    ).fetchone()
    if replaced is not None:
        delete(connection, service, replaced[0])
    there = execute(
        connection,
        "SELECT count(*) FROM messaging_binding WHERE service = ? AND identity = ?",
        (service, binding.identity),
    ).fetchone()[0]
    if there >= PER_IDENTITY:
        raise ApiError(400, f"Identity: this one has {PER_IDENTITY} bindings already, which is the most")
    values = (
        *(binding.sid, binding.account, service, binding.identity, binding.endpoint, binding.type),
        *(binding.address, binding.credential, binding.protocol, json.dumps(binding.tags), binding.created),
    )
    position = execute(
        connection, f"INSERT INTO messaging_binding ({', '.join(COLUMNS)}) VALUES ({_marks(values)})", values
    ).lastrowid
    tags = {*binding.tags} - IMPLICIT | {"all", binding.type}
    rows = [(service, tag, position) for tag in sorted(tags)]
    execute_many(connection, "INSERT INTO messaging_tag VALUES (?, ?, ?)", rows)
    execute_many(
        connection,
        "INSERT INTO messaging_tag_count VALUES (?, ?, 1)"
        " ON CONFLICT (service, tag) DO UPDATE SET bindings = bindings + 1",
        [row[:2] for row in rows],
    )


def fetch(connection: Connection, service: str, sid: str) -> Binding | None:
    """Return the service's binding with this sid, or None."""
    query = f"SELECT {BINDING}, b.position FROM messaging_binding b WHERE service = ? AND sid = ?"
    row = execute(connection, query, (service, sid)).fetchone()
    return None if row is None else _binding(row)


def is_bound(connection: Connection, address: str) -> bool:
    """Return whether a binding of any service has this address."""
    query = "SELECT 1 FROM messaging_binding WHERE address = ? LIMIT 1"
    return execute(connection, query, (address,)).fetchone() is not None


def delete(connection: Connection, service: str, sid: str) -> bool:
    """Delete a binding with its tags. Returns whether it existed."""
    found = fetch(connection, service, sid)
    if found is None:
        return False
    tags = execute(
        connection, "SELECT tag FROM messaging_tag WHERE binding = ?", (found.position,)
    ).fetchall()
    for (tag,) in tags:
        where = (service, tag)
        execute(
            connection,
            "UPDATE messaging_tag_count SET bindings = bindings - 1 WHERE service = ? AND tag = ?",
            where,
        )
        execute(
            connection,
            "DELETE FROM messaging_tag_count WHERE service = ? AND tag = ? AND bindings = 0",
            where,
        )
    execute(
        connection, "DELETE FROM messaging_binding WHERE position = ?", (found.position,)
    )  # its tags go too
    return True


def select(connection: Connection, service: str, wanted: Selection) -> list[Target]:
    """Return the delivery targets of the bindings that match, oldest first."""
    query = _query(connection, service, wanted)
    if query is None:
        return []
    at, terms, values = query
    columns = ", ".join(f"b.{each}" for each in Target._fields)
    rows = execute(connection, f"SELECT {columns} {' '.join(terms)} ORDER BY {at}", values)
    return [Target._make(row) for row in rows]


def page(
    connection: Connection,
    service: str,
    wanted: Selection,
    size: int,
    *,
    skipped: int = 0,
    older: int | None = None,
    newer: int | None = None,
) -> tuple[list[Binding], bool]:
    """Return one page of the bindings that match, newest first, and whether more of them follow it.

    older: the page begins directly below this position; newer: the page ends directly above this position;
    without both, the page begins after the newest `skipped` bindings.
    """
    query = _query(connection, service, wanted)
    if query is None:
        return [], False
    at, terms, values = query
    if older is not None or newer is not None:
        terms.append(f"AND {at} {'<' if newer is None else '>'} ?")
        values.append(older if newer is None else newer)
    order = "DESC" if newer is None else "ASC"
    statement = f"SELECT {BINDING}, {at} {' '.join(terms)} ORDER BY {at} {order} LIMIT ? OFFSET ?"
    rows = execute(connection, statement, (*values, size + 1, skipped)).fetchall()
    more = len(rows) > size
    found = [_binding(row) for row in rows[:size]]
    return (found, more) if newer is None else (found[::-1], bool(found))


def _query(
    connection: Connection, service: str, wanted: Selection
) -> tuple[str, list[str], list[object]] | None:
    """Return the position's column, the FROM and WHERE terms that select the bindings, and their values.

    None if no binding can match. The query begins with the identities if there are any, else with the rarest tag,
    else with the service. `b` is the binding.
    """
    tags = _rarest_first(connection, service, wanted.tags)
    if tags is None:
        return None
    values: list[object] = [service]
    if wanted.identities or not tags:
        # Without INDEXED BY, SQLite prefers a scan of the whole service, already in order, to sorting a few rows.
        index = f"messaging_binding_{'identity' if wanted.identities else 'position'}"
        at, terms = "b.position", [f"FROM messaging_binding b INDEXED BY {index} WHERE b.service = ?"]
    else:
        at, terms = (
            "t.binding",
            [
                "FROM messaging_tag t CROSS JOIN messaging_binding b ON b.position = t.binding",
                "WHERE t.service = ? AND t.tag = ?",
            ],
        )
        values.append(tags.pop(0))
    if wanted.identities:
        terms.append(f"AND b.identity IN ({_marks(wanted.identities)})")
        values += wanted.identities
    for tag in tags:
        terms.append(
            f"AND EXISTS (SELECT 1 FROM messaging_tag WHERE service = ? AND tag = ? AND binding = {at})"
        )
        values += (service, tag)
    for bound, second in ((">=", wanted.since), ("<", wanted.before)):
        if second is not None:
            terms.append(f"AND b.created {bound} ?")
            values.append(second)
    return at, terms, values


def _rarest_first(connection: Connection, service: str, tags: Iterable[str]) -> list[str] | None:
    """Return the tags, `all` left out, by their number of bindings. None if no binding can have all of them."""
    named = {*tags} - {"all"}
    if len(named.intersection(TYPES)) > 1:
        return None
    counts: dict[str, int] = {}
    for tag in sorted(named):
        row = execute(
            connection,
            "SELECT bindings FROM messaging_tag_count WHERE service = ? AND tag = ?",
            (service, tag),
        ).fetchone()
        if row is None:
            return None
        counts[tag] = row[0]
    return sorted(counts, key=lambda tag: counts[tag])


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _binding(row: Sequence[Any]) -> Binding:
    values = list(row)
    tags = COLUMNS.index("tags")
    values[tags] = tuple(json.loads(values[tags]))
    return Binding(*values)
