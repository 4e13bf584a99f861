"""Texts and buttons of widgets, read without a front end."""

import re
from typing import Any

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
