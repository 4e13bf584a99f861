"""Strict parser of form bodies and queries: application/x-www-form-urlencoded (document 1, Endpoints)."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TypeVar
from urllib.parse import quote, unquote_to_bytes

PLAIN = re.compile(r"[A-Za-z0-9_.~-]*")
SURROGATE = re.compile(r"[\ud800-\udfff]")  # how the HTTP parser represents bytes that are not UTF-8
BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")

Missing = TypeVar("Missing")


def parse(text: str) -> list[tuple[str, str | None]]:
    """Return the pairs of a form in order; a pair without `=` has the value None.

    Raises ValueError with the reason for wrong percent-encoding or invalid UTF-8.
    """
    return _pairs(text, None)


def parse_body(body: bytes) -> list[tuple[str, str]]:
    """Return the pairs of a form body; a pair without `=` has an empty value.

    Raises ValueError with the reason, also for a pair without a name.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("the body is not valid UTF-8") from None
    pairs = _pairs(text, "")
    for name, _ in pairs:
        if not name:
            raise ValueError("a pair has no name")
    return pairs


def _pairs(text: str, missing: Missing) -> list[tuple[str, str | Missing]]:
    """Return the pairs of a form in order. missing: value of a pair without `=`. Raises ValueError."""
    is_plain = "%" not in text and "+" not in text  # as nearly always: there is nothing to decode
    pairs: list[tuple[str, str | Missing]] = []
    for part in text.split("&"):
        if part:
            name, equals, value = part.partition("=")
            if not is_plain:
                name, value = decode(name), decode(value)
            pairs.append((name, value if equals else missing))
    return pairs


def decode(text: str) -> str:
    """Decode percent-encoding; `+` is a space. Raises ValueError with the reason."""
    if "+" in text:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    if BROKEN_PERCENT.search(text):
        raise ValueError("wrong percent-encoding: '%' is followed by two hex digits")
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("wrong percent-encoding: not valid UTF-8") from None


def encode(pairs: Collection[tuple[str, object]]) -> str:
    """Return `name=value` pairs joined by `&`; all but letters, digits and `_.-~` is percent-encoded."""
    text = characters = ""
    for name, value in pairs:
        text += f"&{name}={value}"
        characters += f"{name}{value}"
    if PLAIN.fullmatch(characters):  # as nearly always: there is nothing to encode
        return text[1:]
    return "&".join([f"{_quoted(name)}={_quoted(str(value))}" for name, value in pairs])


def _quoted(text: str) -> str:
    return text if PLAIN.fullmatch(text) else quote(text, safe="")
