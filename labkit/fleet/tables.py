"""Tables of what was measured once, as rows that devices can write again."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError, unknown
from labkit.core.extras import needs

if TYPE_CHECKING:
    import pandas

PLAIN = re.compile(
    r"\d{4}\b.*"  # begins with the year
    r"|.*\b[A-Za-z]{3,9}\b.*\d{4}.*"  # names the month
    r"|([+-]?\d+ days?,? ?)?[+-]?\d+:\d\d(:\d\d(\.\d+)?)?"  # a duration
    r"|([+-]?[\d.]+ ?[A-Za-zµ]+ ?)+"  # one with units
)
Measured = list[
    tuple[float, dict[str, object]]
]  # seconds after the first row of the table, and what there was


def measured(table: Any, time: str, device: str) -> dict[str | None, Measured]:
    """The rows of a table by device, in the order of their times; by None where no column says of which device.

    table: a DataFrame, or the path of a CSV file, whose values stay the text that they are; an empty cell is no value,
    and a row without any is left out. time, device: the names of columns, as Replay has them. Raises LabError for what
    is no table, and for a row without a time.
    """
    with needs("tables"):
        import pandas as pd

    name = "table" if isinstance(table, pd.DataFrame) else f"table: {table}"
    data = table if isinstance(table, pd.DataFrame) else _read(table)
    if time in data:
        data = data.set_index(time)
    elif data is not table:
        raise LabError(f"{name}: {unknown('column', time, map(str, data))}")
    devices = data[device].astype(str).tolist() if device in data else [None] * len(data)
    values = data.drop(columns=device, errors="ignore").to_dict("records")
    found: dict[str | None, Measured] = {}
    rows = zip(_seconds(data.index, name), devices, values, strict=True)
    for when, whose, row in sorted(rows, key=lambda each: each[0]):
        if there := {str(alias): value for alias, value in row.items() if pd.notna(value)}:
            found.setdefault(whose, []).append((when, there))
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
    except ValueError as error:  # which those of pandas are too
        raise LabError(f"table: {path}: no CSV: {error}") from None


def _seconds(times: pandas.Index, name: str) -> list[float]:
    """Seconds since the earliest of these times. Raises LabError for one that is none."""
    with needs("tables"):
        import pandas as pd

    found = _moments(times)
    if found is None:
        shown = next((each for each in times if isinstance(each, str) and not _plain(each)), times[0])
        raise LabError(f"{name}: expected times as dates (2026-02-01 09:30) or as seconds, not {shown!r}")
    since = found - found.min()
    seconds = [
        float(each) for each in (since.total_seconds() if isinstance(since, pd.TimedeltaIndex) else since)
    ]
    for row, each in enumerate(seconds, 1):
        if not math.isfinite(each):
            raise LabError(f"{name}: row {row} has no time")
    return seconds


def _moments(times: pandas.Index) -> Any:
    """These times as dates in UTC, as durations or as numbers, whichever they are; None for what is none of them."""
    with needs("tables"):
        import pandas as pd

    if isinstance(times, pd.TimedeltaIndex):
        return times
    if isinstance(times, pd.PeriodIndex):
        return times.to_timestamp()
    if pd.api.types.is_bool_dtype(times.dtype) or any(isinstance(each, bool) for each in times):
        return None
    ways: list[Callable[[Any], Any]] = [partial(pd.to_datetime, utc=True, format="ISO8601")]
    if all(_plain(each) for each in times if isinstance(each, str)):
        ways += [partial(pd.to_datetime, utc=True), pd.to_timedelta]
    if not isinstance(times, pd.DatetimeIndex):  # whose numbers are no seconds
        ways.insert(0, pd.to_numeric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of dates in a form of their own, which are read one by one
        for way in ways:
            with suppress(ValueError, TypeError):
                return way(times)
    return None


def _plain(text: str) -> bool:
    """Can a time be read in one way alone? 01.02.2026 is a day of January or of February, and 1,5 is none at all."""
    return PLAIN.fullmatch(text.strip()) is not None
