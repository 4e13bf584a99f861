"""Texts and buttons of widgets, read without a front end, and frames of runs with few rows."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from labkit.fleet.measures import Latency, Tick, frame
from labkit.widgets.fleet_dashboard import FleetDashboard


def buttons(dashboard: FleetDashboard) -> dict[str, Any]:
    """Return the buttons by their labels, including the buttons of failed devices."""
    found: dict[str, Any] = {}

    def look(widget: Any) -> None:
        if type(widget).__name__ == "Button":
            found[widget.description] = widget
        for each in getattr(widget, "children", ()):
            look(each)

    look(dashboard.widget)
    return found


def words(widget: Any) -> str:
    """Return all texts of a widget, without HTML tags."""
    value = getattr(widget, "value", "")
    text = value if isinstance(value, str) else ""
    text = re.sub(r"<style>.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL)
    return " ".join(" ".join([text, *(words(each) for each in getattr(widget, "children", ()))]).split())


def everything(widget: Any) -> list[Any]:
    """Yield a widget and all widgets inside it."""
    return [widget, *(found for each in getattr(widget, "children", ()) for found in everything(each))]


START = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def ticks(count: int = 4, every: float = 900) -> pd.DataFrame:
    """Return a run's frame: in the third interval no request is answered and 3 fail."""
    made = []
    for number in range(count):
        silent = number == 2
        made.append(
            Tick(
                START + every * (number + 1),
                {"sleeping": 8, "running": 2 - silent, "failed": int(silent)},
                0 if silent else 90 * (number + 1),
                {"503": 3} if silent else {},
                Latency() if silent else Latency.of([0.1, 0.2, 0.4]),
            )
        )
    return frame(made)


def requests() -> pd.DataFrame:
    rows = [
        (0, "t-2", 204, 0.004),
        (10, "t-1", 204, 0.02),
        (10, "t-1", 503, 0.03),
        (4000, "t-1", None, None),
        (90_000, "t-2", 204, 1.5),
    ]
    made = pd.DataFrame(rows, columns=["time", "identity", "status", "latency"])
    made["time"] = pd.to_datetime(made["time"] + START, unit="s", utc=True)
    return made.astype({"status": "Int64"})


def losses_of(*names: str) -> pd.DataFrame:
    index = pd.MultiIndex.from_tuples([(name, 1) for name in names], names=["identity", "epoch"])
    return pd.DataFrame({"sent": 9, "lost": 2, "doubled": 1, "reordered": 1}, index=index)
