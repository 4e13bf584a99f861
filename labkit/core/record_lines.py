"""Journal records as lines for people, and which of them are problems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

FAILED = 400  # lowest status of a failed request, script or call
CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+"
)  # characters that could forge a line or move a terminal's cursor
# Those, but tabs, and characters that reorder a line or that no terminal can be sent.
HIDDEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
NOT_THERE = re.compile(r"(Service|Operation) .* Not Found")  # errors that say no more than their hints


class RecordLike(Protocol):
    """Interface of a record of the journal and of its copies."""

    @property
    def kind(self) -> str: ...
    @property
    def actor(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def status(self) -> int | None: ...
    @property
    def detail(self) -> Mapping[str, Any] | None: ...


def one_line(text: str, longest: int) -> str:
    """Return a text in one line without control characters, cut after `longest` characters."""
    text = CONTROL.sub(" ", text).strip()
    return text if len(text) <= longest else f"{text[:longest]}…"


def visible(text: str) -> str:
    """Return a text of a third party as one line for a terminal: control characters are escaped, as `\\x1b`."""
    return HIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def record_line(record: RecordLike) -> str:
    """Return a record in one line: `401 thermostat/t-001 POST /onep:v1/stack/alias: no credentials`.

    After the colon: the reason of a refusal or a cut, the error of a call, or a hint about an ignored value or a
    misspelt call.
    """
    detail = record.detail or {}
    hint = detail.get("hint") or ""
    why = detail.get("reason") or detail.get("error") or hint
    why = why.get("error", "") if isinstance(why, dict) else why  # the error object of a call
    if record.kind == "call" and hint and why != hint:
        why = hint if NOT_THERE.fullmatch(why) else f"{why} ({hint})"
    what = "" if record.kind == "request" else f"{record.kind} "
    status = "" if record.status is None else f"{record.status} "
    return f"{what}{status}{record.actor} {record.summary}{f': {why}' if why else ''}"


def is_problem(record: RecordLike) -> bool:
    """Return whether a record is a problem.

    That is a refused request, one with an ignored value, a failed script, a misspelt call, or an error.
    """
    if record.kind in ("refused", "warning", "error", "backpressure"):
        return True
    failed = record.status is not None and record.status >= FAILED
    if record.kind == "script":
        return failed
    if record.kind == "call":
        # an operation that failed unexpectedly, or a misspelt call; other refusals are for the script
        return not {"trace", "hint"}.isdisjoint(record.detail or {})
    # an error status from a script is no refusal; a failed script has a record of its own
    detail = record.detail or {}
    return record.kind == "request" and ((failed and "reason" in detail) or "unknown_aliases" in detail)
