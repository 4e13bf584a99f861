"""Values of journal records as short text: what a device wrote, what a service was called with, what was answered."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice

from labkit.core.canonical import CanonicalRecord
from labkit.core.record_lines import one_line
from labkit.core.redaction import HIDDEN, is_secret_name, without_issued

LENGTH = re.compile(r"<(1 character|\d+ characters)>")  # that the journal has instead of a value
LENGTHS = re.compile(r"\((1 character|\d+ characters)\)|answer of \d+ byte")
NAMES = re.compile(r"[A-Za-z_][\w.:/-]*")  # written without quotation marks
KEYS = frozenset(("key", "keys"))  # of a Keystore: no secrets, unlike other names with this ending
LONGEST_VALUE = 60  # characters
MOST = 12  # values of a record
# What events say about a device besides its values: the record's line has it, or no failure depends on it.
OF_DEVICE = frozenset(
    "connection_id device_sn domain identity ip pid protocol rid seq source_ip timestamp type vendor".split()
)


def record_values(record: CanonicalRecord, longest: int) -> str:
    """Return the values of a record as text: `key "count", value (1 character)`; empty if it has none.

    A value that the journal knows by its length alone is shown as that length. One whose name suggests a secret is
    hidden. longest: number of characters.
    """
    detail = record.detail or {}
    match record.kind:
        case "call":
            given = detail.get("parameters")
        case "event":
            given = _of_event(record.summary, detail)
        case _:
            given = None
    shown = []
    if isinstance(given, Mapping):
        shown = _pairs(given)
    if record.kind == "call" and "answer" in detail:
        shown.append(f"answer {_value(detail['answer'])}")
    if record.kind == "request" and record.size:
        body = detail.get("body")
        length = f"of {record.size} byte{'s' if record.size != 1 else ''}"
        shown.append(f"answer {_quoted(body) if isinstance(body, str) else length}")
    return one_line(", ".join(shown), longest)


def has_lengths(text: str) -> bool:
    """Return whether values of a record are shown by their length alone. text: of `record_values`."""
    return LENGTHS.search(text) is not None


def _of_event(name: str, detail: Mapping[str, object]) -> Mapping[str, object]:
    """Return the values that an event carries, by their names."""
    match detail:
        case {"alias": str(alias), "value": [_, value]}:
            return {alias: value}
        case {"payload": list(points)} if name == "data_in":
            values: dict[str, object] = {}
            for each in points:
                match each:
                    case {"values": Mapping() as written}:
                        values |= written
            return values
        case {"data": Mapping() as data}:
            return data
    return {each: value for each, value in detail.items() if each not in OF_DEVICE}


def _pairs(given: Mapping[str, object]) -> list[str]:
    """Return names with their values, `MOST` at most."""
    shown = [
        f"{_name(name)} {HIDDEN if is_secret_name(name) and name not in KEYS else _value(value)}"
        for name, value in islice(given.items(), MOST)
    ]
    return [*shown, *(["…"] if len(given) > MOST else [])]


def _name(name: str) -> str:
    """Return a name as it is if it is a plain word, otherwise in quotation marks."""
    return name if NAMES.fullmatch(name) and len(name) <= LONGEST_VALUE else _quoted(name)


def _value(value: object) -> str:
    if isinstance(value, str):
        length = LENGTH.fullmatch(value)
        return f"({length[1]})" if length else _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(_pairs(value)) + "}"
    if isinstance(value, list):
        inside = [_value(each) for each in value[:MOST]]
        return "[" + ", ".join([*inside, *(["…"] if len(value) > MOST else [])]) + "]"
    return one_line(json.dumps(value), LONGEST_VALUE)


def _quoted(text: str) -> str:
    """Return a text in quotation marks, cut if it is long, without secrets that a platform has issued."""
    text = without_issued(text)
    cut = text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
    return json.dumps(cut, ensure_ascii=False)
