"""Requests for values, and outcomes of polls, in the form of the model of device values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from labkit.conformance.device_client import ALIAS

if TYPE_CHECKING:
    from labkit.conformance.connection_pool import Exchange


def outcome(response: Exchange, alias: str) -> tuple[str, str] | str:
    """Return the outcome of a poll: `304`, timestamp and value, or another status."""
    if response.status_code != 200:
        return str(response.status_code)
    pairs = parse_qsl(response.text, keep_blank_values=True)
    stamp = response.headers.get("last-modified", "no Last-Modified")
    return (stamp, pairs[0][1]) if len(pairs) == 1 and pairs[0][0] == alias else (stamp, response.text)


def path(aliases: Sequence[str], after: str = "") -> str:
    """Return the path of a read."""
    query = "&".join(quote(alias, safe="") + after for alias in aliases)
    return f"{ALIAS}?{query}" if query else ALIAS
