"""How handles look in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape


def card(title: str, facts: Mapping[str, object]) -> str:
    """A small HTML table of facts below a title."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<b>{escape(title)}</b><table>{rows}</table>"
