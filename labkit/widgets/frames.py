"""Validation of the frames that charts show, and the beginning of their first interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.core.errors import LabError, UnknownError

if TYPE_CHECKING:
    import pandas


LOST = ("lost", "doubled", "reordered")  # columns of accounts


def beginning(frame: pandas.DataFrame) -> pandas.Timestamp | None:
    """Return the beginning of the first interval of a frame of ticks, None if it is unknown.

    The frame's attributes give it; else the first interval is taken to be as long as the second.
    """
    import pandas

    if not len(frame):
        return None
    every, began = frame.attrs.get("every"), frame.attrs.get("began")
    first: pandas.Timestamp = frame.index[0]
    if every is None:
        return first - (frame.index[1] - first) if len(frame) > 1 else None
    begin = first - pandas.Timedelta(every, "s")
    return begin if began is None else max(begin, pandas.Timestamp(began, unit="s", tz=first.tz))


def from_beginning(shown: pandas.DataFrame, begin: pandas.Timestamp | None) -> pandas.DataFrame:
    """Return a frame with a copy of the first row at the beginning of its interval, which gives that a width."""
    import pandas

    if begin is None or not len(shown):
        return shown
    return pandas.concat([shown.iloc[:1].set_axis(pandas.DatetimeIndex([begin])), shown])


def isolated(values: pandas.Series[float]) -> pandas.Series[bool]:
    """Return a mask of the values between two gaps, to which no line leads."""
    return values.notna() & values.shift(1).isna() & values.shift(-1).isna()


def expect_ticks(frame: pandas.DataFrame, *columns: str) -> pandas.DataFrame:
    """Return `frame` if it is of ticks and has at least one of these columns. Raises LabError otherwise."""
    import pandas

    expected = "a frame of ticks (run.frame()), one row per interval"
    _is_frame(frame, expected)
    if not isinstance(frame.index, pandas.DatetimeIndex):
        raise LabError(f"expected {expected}, not one whose index is no times")
    return _has_one(frame, expected, columns)


def expect_requests(frame: pandas.DataFrame, *columns: str) -> pandas.DataFrame:
    """Return `frame` if it is of requests and has all of these columns. Raises LabError otherwise."""
    expected = "a frame of requests (run.requests()), one row per request"
    _is_frame(frame, expected)
    for each in columns:
        if each not in frame:
            raise LabError(f"expected {expected}, not one without a column {each!r}")
    return frame


def expect_losses(frame: pandas.DataFrame, *columns: str) -> pandas.DataFrame:
    """Return `frame` if it is a table of accounts with at least one of these columns. Raises LabError otherwise."""
    expected = "a table of accounts (run.losses), one row per device and epoch"
    return _has_one(_is_frame(frame, expected), expected, columns)


def expect_numbers(frame: pandas.DataFrame, column: str) -> pandas.DataFrame:
    """Return `frame` if it has times (index or column `time`) and numbers in `column`. Raises LabError otherwise."""
    from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

    expected = "a frame of ticks (run.frame()), or one with a column 'time'"
    times = _is_frame(frame, expected)["time"] if "time" in frame else frame.index
    if not is_datetime64_any_dtype(times.dtype):
        raise LabError(f"expected {expected}, not one without times")
    if column not in frame:
        raise UnknownError(f"no column {column!r}, there are: {', '.join(map(str, frame.columns)) or 'none'}")
    if len(frame) and not is_numeric_dtype(frame[column].dtype):
        raise LabError(f"expected numbers in {column!r}, not {frame[column].dtype}")
    return frame


def expect_times(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return `frame` if its index holds times and all columns hold numbers. Raises LabError otherwise."""
    import pandas
    from pandas.api.types import is_numeric_dtype

    expected = "a frame with times as its index and one column per series"
    if not isinstance(_is_frame(frame, expected).index, pandas.DatetimeIndex):
        raise LabError(f"expected {expected}, not one whose index is no times")
    for name in frame:
        if not is_numeric_dtype(frame[name].dtype):
            raise LabError(f"expected numbers in {name!r}, not {frame[name].dtype}")
    return frame


def _is_frame(frame: object, expected: str) -> pandas.DataFrame:
    import pandas

    if not isinstance(frame, pandas.DataFrame):
        raise LabError(f"expected {expected}, not {type(frame).__name__}")
    return frame


def _has_one(frame: pandas.DataFrame, expected: str, columns: tuple[str, ...]) -> pandas.DataFrame:
    if columns and not any(each in frame for each in columns):
        raise LabError(f"expected {expected}, not one without any of {', '.join(columns)}")
    return frame
