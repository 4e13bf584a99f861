"""Limits of a result of Timeseries."""

from __future__ import annotations

from labkit.core.errors import ServiceError
from labkit.services.timeseries.statements import refuse

MOST_ROWS = 10_000  # of a series in a result
MOST_RETURNED = 100_000  # rows of a query, and points of a column that a function such as derivative reads


def too_long() -> ServiceError:
    """Return the error for a result with too many rows."""
    return refuse(f"the result has more than {MOST_RETURNED} rows; use LIMIT or a shorter time")
