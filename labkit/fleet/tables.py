"""Tables of recorded measurements, as rows that devices replay."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError, UnknownError, unknown
from labkit.core.extras import needs

if TYPE_CHECKING:
    import pandas

UNAMBIGUOUS = re.compile(
    r"\d{4}\b.*"  # begins with the year
    r"|.*\b[A-Za-z]{3,9}\b.*\d{4}.*"  # names the month
    r"|([+-]?\d+ days?,? ?)?[+-]?\d+:\d\d(:\d\d(\.\d+)?)?"  # a duration
    r"|([+-]?[\d.]+ ?[A-Za-zµ]+ ?)+"  # a duration with units
)
Measured = list[tuple[float, dict[str, object]]]  # seconds after the table's first row, and values by alias


def measured(table: Any, time: str, device: str) -> dict[str | None, Measured]:
    """Return the rows of a table by device, ordered by time; under None if the table has no column of devices.

    table: a DataFrame, or the path of a CSV file, whose values stay text; empty cells and rows are left out. time,
    device: names of columns, as in Replay. Raises LabError for an invalid table and for a row without a time.
    """
    with needs("tables"):
        import pandas as pd

    name = "table" if isinstance(table, pd.DataFrame) else f"table: {table}"
    data = table if isinstance(table, pd.DataFrame) else _read(table)
    if time in data:
        data = data.set_index(time)
    elif data is not table:
        raise UnknownError(f"{name}: {unknown('column', time, map(str, data))}")
    devices = data[device].astype(str).tolist() if device in data else [None] * len(data)
    values = data.drop(columns=device, errors="ignore").to_dict("records")
    found: dict[str | None, Measured] = {}
    rows = zip(_seconds(data.index, name), devices, values, strict=True)
    for when, identity, row in sorted(rows, key=lambda each: each[0]):
        if present := {str(alias): value for alias, value in row.items() if pd.notna(value)}:
            found.setdefault(identity, []).append((when, present))
    return found


def _read(path: Any) -> pandas.DataFrame:
    with needs("tables"):
        import pandas as pd

    if not isinstance(path, str | PathLike):
        raise LabError(f"table: expected a DataFrame or the path of a CSV file, not {path!r}")
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    except OSError as error:
        raise LabError(f"table: {path}: {error.strerror or error}") from None
    except ValueError as error:  # including those of pandas
        raise LabError(f"table: {path}: no CSV: {error}") from None


def _seconds(times: pandas.Index, name: str) -> list[float]:
    """Return the seconds since the earliest time. Raises LabError for an invalid time."""
    with needs("tables"):
        import pandas as pd

    found = _parsed_times(times)
    if found is None:
        shown = next(
            (each for each in times if isinstance(each, str) and not _is_unambiguous(each)), times[0]
        )
        raise LabError(f"{name}: expected times as dates (2026-02-01 09:30) or as seconds, not {shown!r}")
    since = found - found.min()
    seconds = [
        float(each) for each in (since.total_seconds() if isinstance(since, pd.TimedeltaIndex) else since)
    ]
    for row, each in enumerate(seconds, 1):
        if not math.isfinite(each):
            raise LabError(f"{name}: row {row} has no time")
    return seconds


def _parsed_times(times: pandas.Index) -> Any:
    """Return times as dates in UTC, as durations or as numbers, depending on their form; None for any other form."""
    with needs("tables"):
        import pandas as pd

    if isinstance(times, pd.TimedeltaIndex):
        return times
    if isinstance(times, pd.PeriodIndex):
        return times.to_timestamp()
    if pd.api.types.is_bool_dtype(times.dtype) or any(isinstance(each, bool) for each in times):
        return None
    ways: list[Callable[[Any], Any]] = [partial(pd.to_datetime, utc=True, format="ISO8601")]
    if all(_is_unambiguous(each) for each in times if isinstance(each, str)):
        ways += [partial(pd.to_datetime, utc=True), pd.to_timedelta]
    if not isinstance(times, pd.DatetimeIndex):  # dates would become nanoseconds
        ways.insert(0, pd.to_numeric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that dates of an unusual form are parsed one by one
        for way in ways:
            with suppress(ValueError, TypeError):
                return way(times)
    return None


def _is_unambiguous(text: str) -> bool:
    """Return whether a time is unambiguous: 01.02.2026 may be in January or February, and 1,5 is no time."""
    return UNAMBIGUOUS.fullmatch(text.strip()) is not None
