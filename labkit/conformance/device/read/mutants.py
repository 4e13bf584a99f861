"""Faults of the read."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import patch

NAMED = "labkit.device_api.alias:queried_aliases"
OLDEST = (
    "SELECT value FROM datapoint WHERE product = ? AND identity = ? AND alias = ? ORDER BY timestamp LIMIT 1"
)

as_often_as_named = patch("DEV-READ-6", NAMED, "an alias named twice comes twice")(
    lambda original, exchange: [name for name, _ in exchange.query() if name]
)


@patch("DEV-READ-2 DEV-REC-15", "labkit.devices.state:latest_values")
def oldest(original: Any, connection: Any, product: str, identity: str, aliases: Any) -> Any:
    """a read returns the oldest value"""
    rows = [(each, connection.exec_driver_sql(OLDEST, (product, identity, each)).first()) for each in aliases]
    return [(alias, row[0]) for alias, row in rows if row is not None]
