"""Plays as texts, with all of their fields: `repr` of a play is short."""

from __future__ import annotations

from dataclasses import fields

from labkit.hunt import Played


def whole(played: Played) -> str:
    """Return all fields of a play as text."""
    return repr({each.name: getattr(played, each.name) for each in fields(played)})
