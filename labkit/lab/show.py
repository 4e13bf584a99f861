"""HTML tables and DataFrames that handles show in a notebook."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from labkit.control.data import Table
from labkit.control.handsets import MessageInfo
from labkit.control.journal import Entry
from labkit.core.extras import needs
from labkit.fleet.plan import RequestRow
from labkit.labtime.device_scheduler import Failure

if TYPE_CHECKING:
    import pandas

ENTRY = ("sequence", "time", "kind", "actor", "summary", "status", "size", "cause", "detail")
MESSAGE = (
    *("time", "address", "channel", "title", "text", "state", "ended", "identity", "payload", "headers"),
    *("account", "service", "binding", "notification"),
)
TIMES = frozenset({"time", "ended", "died", "updated"})


def card(title: str, facts: Mapping[str, object]) -> str:
    """Return a small HTML table of facts below a title."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<b>{escape(title)}</b><table>{rows}</table>"


def table(columns: Sequence[str], rows: Collection[Sequence[object]], nothing: str) -> str:
    """Return an HTML table of texts. nothing: the sentence in its place where it has no rows."""
    if not rows:
        return f"<i>{escape(nothing)}</i>"
    heads = "".join(f"<th>{escape(each)}</th>" for each in columns)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def frame_of(
    items: Iterable[object], columns: Sequence[str], index: str = "", **types: str
) -> pandas.DataFrame:
    """Return a DataFrame of the attributes of objects, which `columns` names: see `rows_frame`."""
    return rows_frame([[getattr(each, name) for name in columns] for each in items], columns, index, **types)


def rows_frame(
    rows: Iterable[object], columns: Iterable[str], index: str = "", **types: str
) -> pandas.DataFrame:
    """Return a DataFrame of rows, in which times are UTC timestamps. index: column by which it is indexed.

    types: of columns, by name; with `sequence` as index the times are microseconds, else seconds.
    """
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    frame = pandas.DataFrame(list(rows), columns=[*columns])
    for name in TIMES.intersection(frame):
        frame[name] = (
            pandas.to_datetime(frame[name], unit="us", utc=True)
            if index == "sequence"
            else moments(frame[name])
        )
    frame = frame.astype(types)
    return with_columns_named(frame.set_index(index) if index else frame)


def entries_frame(entries: Iterable[Entry]) -> pandas.DataFrame:
    """Return a DataFrame of journal records, indexed by sequence."""
    return frame_of(entries, ENTRY, "sequence", status="Int64", size="Int64", cause="Int64")


def messages_frame(messages: Iterable[MessageInfo]) -> pandas.DataFrame:
    """Return a DataFrame of messages to handsets."""
    return frame_of(messages, MESSAGE)


def requests_frame(rows: Iterable[RequestRow]) -> pandas.DataFrame:
    """Return a DataFrame of a run's requests."""
    return rows_frame(rows, RequestRow._fields, status="Int64", identity="str", action="str", error="str")


def failures_frame(failures: Iterable[Failure]) -> pandas.DataFrame:
    """Return a DataFrame of devices that failed, indexed by identity."""
    return rows_frame(failures, Failure._fields, "identity")


def devices_frame(rows: Iterable[Mapping[str, object]], columns: Iterable[str] = ()) -> pandas.DataFrame:
    """Return a DataFrame of a run's devices, indexed by identity. columns: names of columns that it always has."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    frame = pandas.DataFrame(list(rows)).set_index("identity")
    for each in columns:
        if each not in frame:
            frame[each] = None
    return with_columns_named(frame)


def workers_frame(rows: Iterable[Mapping[str, object]]) -> pandas.DataFrame:
    """Return a DataFrame of a run's workers."""
    return rows_frame(rows, ("worker", "pid", "devices", "died"))


def table_frame(selected: Table) -> pandas.DataFrame:
    """Return a DataFrame of the rows of a SELECT; its attribute `hidden` lists the columns that are read as NULL."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    frame = pandas.DataFrame(selected.rows, columns=list(selected.columns))
    frame.attrs["hidden"] = list(selected.hidden)
    return with_columns_named(frame)


def moments(seconds: pandas.Series[Any]) -> pandas.Series[Any]:
    """Return Unix seconds as UTC timestamps with microseconds, since nanoseconds would end in 2262."""
    with needs("tables"):
        import pandas

    return pandas.to_datetime((seconds.astype("float64") * 1_000_000).round(), unit="us", utc=True)
