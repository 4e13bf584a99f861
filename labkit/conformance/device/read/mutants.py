"""Faults of the read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection

from labkit.conformance.mutant import mutant
from labkit.devices.state import datapoint_table

LATEST = "labkit.devices.state:latest_values"
NAMED = "labkit.device_api.alias:named"

Found = list[tuple[str, str]]


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


@mutant("DEV-READ-6", NAMED)
def as_often_as_named(original: Any) -> Any:
    """an alias named twice comes twice"""
    return lambda exchange: [name for name, _ in exchange.query() if name]
