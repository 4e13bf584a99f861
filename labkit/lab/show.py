"""HTML tables and DataFrames that handles show in a notebook."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from labkit.control.data import Table
from labkit.control.faults import FaultInfo
from labkit.control.handsets import MessageInfo
from labkit.control.interface import SubscriptionInfo
from labkit.control.journal import Entry
from labkit.control.providers import InboxEntry
from labkit.control.solutions import FileInfo, LogLine
from labkit.core.extras import needs
from labkit.fleet.plan import RequestRow
from labkit.labtime.device_scheduler import Failure

if TYPE_CHECKING:
    import pandas

ENTRY = ("time", "kind", "actor", "summary", "status", "size", "cause", "detail")
LINE = ("time", "run", "level", "status", "text")
MESSAGE = (
    *("time", "address", "channel", "title", "text", "state", "ended", "identity", "payload", "headers"),
    *("account", "service", "binding", "notification"),
)
SUBSCRIPTION = ("service", "parameters", "quota", "triggers", "calls_today", "calls_this_month")
FAULT = ("where", "does", "often", "whom", "seen", "hits", "origin")
ARRIVED = ("time", "method", "path", "parameters", "status", "answer", "fault")


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


def entries_frame(entries: Iterable[Entry]) -> pandas.DataFrame:
    """Return a DataFrame of journal records, indexed by sequence; `time` is a UTC timestamp."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    names = ["sequence", *ENTRY]
    rows = [[getattr(each, name) for name in names] for each in entries]
    frame = pandas.DataFrame(rows, columns=names).set_index("sequence")
    frame["time"] = pandas.to_datetime(frame["time"], unit="us", utc=True)
    return with_columns_named(frame.astype({"status": "Int64", "size": "Int64", "cause": "Int64"}))


def subscriptions_frame(found: Iterable[SubscriptionInfo]) -> pandas.DataFrame:
    """Return a DataFrame of subscriptions, indexed by the subscriber."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    rows = [[getattr(each, name) for name in ("subscriber", *SUBSCRIPTION)] for each in found]
    return with_columns_named(
        pandas.DataFrame(rows, columns=["subscriber", *SUBSCRIPTION]).set_index("subscriber")
    )


def lines_frame(lines: Iterable[LogLine]) -> pandas.DataFrame:
    """Return a DataFrame of a solution's log, indexed by the record's sequence; `time` is a UTC timestamp."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    names = ["sequence", *LINE]
    rows = [[getattr(each, name) for name in names] for each in lines]
    frame = pandas.DataFrame(rows, columns=names).set_index("sequence")
    frame["time"] = pandas.to_datetime(frame["time"], unit="us", utc=True)
    return with_columns_named(frame.astype({"status": "Int64"}))


def files_frame(files: Iterable[FileInfo]) -> pandas.DataFrame:
    """Return a DataFrame of a solution's files, indexed by their names; `problems` has a line each, with its place."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    rows = [
        (
            each.file,
            each.kind,
            ", ".join(each.holds),
            ", ".join(each.calls),
            "\n".join(
                f"{one.level}: {f'line {one.line}: ' if one.line else ''}{one.text}" for one in each.problems
            ),
        )
        for each in files
    ]
    frame = pandas.DataFrame(rows, columns=["file", "kind", "holds", "calls", "problems"])
    return with_columns_named(frame.set_index("file"))


def inbox_frame(arrived: Iterable[InboxEntry]) -> pandas.DataFrame:
    """Return a DataFrame of the requests that a provider received; `time` is a UTC timestamp."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    rows = [[getattr(each, name) for name in ARRIVED] for each in arrived]
    frame = pandas.DataFrame(rows, columns=list(ARRIVED))
    frame["time"] = moments(frame["time"])
    return with_columns_named(frame.astype({"status": "Int64"}))


def faults_frame(faults: Iterable[FaultInfo]) -> pandas.DataFrame:
    """Return a DataFrame of faults, indexed by name."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    rows = [[getattr(each, name) for name in ("name", *FAULT)] for each in faults]
    return with_columns_named(pandas.DataFrame(rows, columns=["name", *FAULT]).set_index("name"))


def messages_frame(messages: Iterable[MessageInfo]) -> pandas.DataFrame:
    """Return a DataFrame of messages to handsets; `time` and `ended` are UTC timestamps."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    rows = [[getattr(each, name) for name in MESSAGE] for each in messages]
    frame = pandas.DataFrame(rows, columns=list(MESSAGE))
    for name in ("time", "ended"):
        frame[name] = moments(frame[name])
    return with_columns_named(frame)


def requests_frame(rows: Iterable[RequestRow]) -> pandas.DataFrame:
    """Return a DataFrame of a run's requests; `time` is a UTC timestamp."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    frame = pandas.DataFrame(list(rows), columns=list(RequestRow._fields))
    frame["time"] = moments(frame["time"])
    return with_columns_named(
        frame.astype({"status": "Int64", "identity": "str", "action": "str", "error": "str"})
    )


def failures_frame(failures: Iterable[Failure]) -> pandas.DataFrame:
    """Return a DataFrame of devices that failed, indexed by identity; `time` is a UTC timestamp."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    frame = pandas.DataFrame(list(failures), columns=list(Failure._fields))
    frame["time"] = moments(frame["time"])
    return with_columns_named(frame.set_index("identity"))


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
    """Return a DataFrame of a run's workers; `died` is a UTC timestamp."""
    with needs("tables"):
        import pandas

        from labkit.lab.frame import with_columns_named

    frame = pandas.DataFrame(list(rows), columns=["worker", "pid", "devices", "died"])
    frame["died"] = moments(frame["died"])
    return with_columns_named(frame)


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
