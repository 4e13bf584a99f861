"""Faults of the read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection

from labkit.conformance.mutant import mutant
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import FORM, TEXT
from labkit.devices.state import datapoint_table
from labkit.http.error import HttpError

ENCODE = "labkit.device_api.forms:encode"
KNOWN = "labkit.device_api.alias:known"
LATEST = "labkit.devices.state:latest_values"
NAMED = "labkit.device_api.alias:named"

Found = list[tuple[str, str]]


@mutant("DEV-READ-1", ENCODE)
def joined_by_lines(original: Any) -> Any:
    """pairs are joined by line ends"""
    return lambda pairs: original(pairs).replace("&", "\n")


@mutant("DEV-READ-1", LATEST)
def first_alias_only(original: Any) -> Any:
    """only the first alias that has a value comes back"""
    return lambda connection, product, identity, aliases: original(connection, product, identity, aliases)[:1]


@mutant("DEV-READ-2 DEV-REC-15", LATEST)
def oldest(original: Any) -> Any:
    """a read gives the oldest value"""

    def broken(connection: Connection, product: str, identity: str, aliases: Iterable[str]) -> Found:
        columns = datapoint_table.c
        found: Found = []
        for alias in aliases:
            query = datapoint_table.select().where(
                columns.product == product, columns.identity == identity, columns.alias == alias
            )
            row = connection.execute(query.order_by(columns.timestamp)).first()
            found += [] if row is None else [(alias, row.value)]
        return found

    return broken


@mutant("DEV-READ-3 DEV-READ-4 DEV-HYBRID-3 DEV-HYBRID-4", KNOWN)
def unknown_refused(original: Any) -> Any:
    """a read that names an unknown alias is answered 404"""

    def broken(exchange: Exchange, aliases: list[str]) -> list[str]:
        known: list[str] = original(exchange, aliases)
        if len(known) < len(aliases):
            raise HttpError(404, "unknown alias")
        return known

    return broken


@mutant("DEV-READ-3 DEV-READ-4 DEV-HYBRID-4", LATEST)
def empty_for_nothing(original: Any) -> Any:
    """an alias without a value comes back empty"""

    def broken(connection: Connection, product: str, identity: str, aliases: Iterable[str]) -> Found:
        found = dict(original(connection, product, identity, aliases))
        return [(alias, found.get(alias, "")) for alias in aliases]

    return broken


@mutant("DEV-READ-5", "labkit.device_api.wire:reply")
def plain_text(original: Any) -> Any:
    """forms come as text/plain"""
    return lambda status, body=b"", kind=TEXT, headers=None: original(
        status, body, TEXT if kind == FORM else kind, headers
    )


@mutant("DEV-READ-6", NAMED)
def sorted_by_name(original: Any) -> Any:
    """pairs come in the order of the alphabet"""
    return lambda exchange: sorted(original(exchange))


@mutant("DEV-READ-6", NAMED)
def as_often_as_named(original: Any) -> Any:
    """an alias named twice comes twice"""
    return lambda exchange: [name for name, _ in exchange.query() if name]


@mutant("DEV-READ-6", NAMED)
def bare_names_only(original: Any) -> Any:
    """a name with = in a query is not taken for an alias"""
    return lambda exchange: list(
        dict.fromkeys(name for name, value in exchange.query() if name and value is None)
    )


@mutant("DEV-READ-7", NAMED)
def all_for_none(original: Any) -> Any:
    """a read that names no alias gives all of them"""

    def broken(exchange: Exchange) -> list[str]:
        requested: list[str] = original(exchange)
        everything = list(exchange.product.settings.resources) if exchange.request.method == "GET" else []
        return requested or everything

    return broken
