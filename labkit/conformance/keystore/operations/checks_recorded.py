"""Keystore: recorded results of a real Redis for random commands, many with edge cases and mistakes in their arguments.

recorded.json has the rows: command, key, arguments, and the result: a list with the value, the text of an error (""
if the text may vary), or null if any result is right. It has no results that depend on time or chance.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from labkit.conformance.check import check
from labkit.conformance.probe import Keystore
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch

FILE = "recorded.json"
AT_ONCE = 100  # commands of one request
OF_KEYS = ("del", "exists")  # their arguments are keys, too
EXACT = 2**53  # a larger number is a text in scripts
UNORDERED = ("hkeys", "hvals", "smembers")

Row = tuple[str, str, list[str], Any]


@check(
    "KEY-CMD-3 KEY-CMD-5 KEY-CMD-6", "random commands return the recorded results of Redis, value or error"
)
async def recorded(target: Target) -> None:
    rows: list[Row] = json.loads((files(__package__) / FILE).read_text(encoding="utf-8"))
    store, prefix = Keystore(target), target.identity()
    for first in range(0, len(rows), AT_ONCE):
        batch = rows[first : first + AT_ONCE]
        found = await store.ask("POST", "/calls", json=[_call(prefix, row) for row in batch])
        for row, each in zip(batch, found, strict=True):
            _compare(row, each.get("result"), prefix)


def _call(prefix: str, row: Row) -> dict[str, Any]:
    name, key, args, _ = row
    if name.lower() in OF_KEYS:
        args = [f"{prefix} {each}" for each in args]
    given = {"args": args} if args else {}
    return {
        "service": "Keystore",
        "operation": "command",
        "parameters": {"command": name, "key": f"{prefix} {key}", **given},
    }


def _compare(row: Row, found: Any, prefix: str) -> None:
    name, key, args, expected = row
    what = " ".join([name, key, *map(repr, args)])
    if expected is None:
        return
    if isinstance(expected, str):
        error = found.get("error") if isinstance(found, dict) else None
        if not isinstance(error, str) or found.get("status") != 400:
            raise Mismatch(what, f"an error of status 400: {expected}", found)
        if expected and error.replace(f"{prefix} ", "") != expected:
            raise Mismatch(what, expected, error)
        return
    if not isinstance(found, dict) or "error" in found:
        raise Mismatch(what, expected[0], found)
    value = _arranged(name.lower(), found.get("value"))
    if isinstance(expected[0], int) and abs(expected[0]) > EXACT:
        value, expected = str(value), [str(expected[0])]
    if json.dumps(value, sort_keys=True) != json.dumps(expected[0], sort_keys=True):
        raise Mismatch(what, repr(expected[0]), repr(value))


def _arranged(name: str, value: Any) -> Any:
    """Return a value in the order of the recorded ones: sorted if Redis promises no order."""
    if name in UNORDERED and isinstance(value, list):
        return sorted(value)
    if name == "hscan" and isinstance(value, list):
        cursor, pairs = value
        return [cursor, sorted([name, each] for name, each in zip(pairs[::2], pairs[1::2], strict=True))]
    return value
