"""Accounts of a run on its dashboard: sums, and the devices with most losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from labkit.widgets import style
from labkit.widgets.frames import LOST

if TYPE_CHECKING:
    import pandas

COLUMNS = ("sent", "acknowledged", "stored", "handled", *LOST)
MOST = 10  # devices in the table


def facts(accounts: Mapping[str, int] | None, *, ended: bool) -> dict[str, str]:
    """Return the sums by name. ended: of a running run, lost messages include messages in transit, as the name says."""
    if accounts is None:
        return {}
    return {_name(each, ended): f"{accounts[each]:,}" for each in COLUMNS}


def summary(accounts: Mapping[str, int] | None, *, ended: bool) -> str:
    """Return the sums in one line; an empty one if a run keeps no accounts."""
    return ", ".join(f"{value} {name}" for name, value in facts(accounts, ended=ended).items())


def table(losses: pandas.DataFrame) -> str:
    """Return the devices with most losses as HTML, from the accounts of a run."""
    sums = losses[list(COLUMNS)].groupby(level=0).sum()
    found = sums.assign(all=sums[list(LOST)].sum(axis="columns"))
    found = found[found["all"] > 0].sort_values("all", ascending=False, kind="stable")
    if found.empty:
        return ""
    lines = [(name, *(int(row[each]) for each in COLUMNS)) for name, row in found.head(MOST).iterrows()]
    more = f", {MOST} of the {len(found)} devices" if len(found) > MOST else ""
    return f"<b>lost, duplicated or reordered messages</b>{more}" + style.rows(["device", *COLUMNS], lines)


def _name(column: str, ended: bool) -> str:
    return "in transit or lost" if column == "lost" and not ended else column
