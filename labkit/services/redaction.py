"""Redaction of the arguments of calls for the journal."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import Secret, SecretBytes, SecretStr

from labkit.core.hiding import HIDDEN, without_issued, without_query_values

CUT = "…"
DEEPEST = 8  # tables within tables
LARGEST_BITS = 10_000  # of a number
MOST_ITEMS = 100  # of one table

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Words in the name of an undeclared argument that mark its value as secret,
_SECRET_WORDS = frozenset(
    "auth authorization bearer code cookie credential credentials cvv jwt keys otp pass passcode passphrase passwd "
    "passwords pin pwd secrets session signature tokens".split()
)
_SECRET_ENDS = ("key", "password", "secret", "token")  # and endings of such words: `accesstoken`
_LONGEST_NAME = 100
_URL = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]{0,30}:/")


@dataclass(frozen=True, slots=True)
class InJournal:
    """Annotates an argument with a function that returns the journal's replacement of its value.

    Unlike a secret (pydantic's SecretStr), the value is shown unchanged where `journal.values` is set.
    """

    show: Callable[[object], object]


def lengths(value: object, depth: int = DEEPEST) -> object:
    """Return the lengths of a value's parts: characters of a text; item by item for a list, by name for a table."""
    kind = type(value)  # nearly always one of these, and every Keystore call comes here
    if isinstance(value, int) and value.bit_length() > LARGEST_BITS:  # Python refuses to write it
        return "<a large number>"
    if kind is int or kind is float:
        value = str(value)
    if isinstance(value, (str, bytes)):
        return "<1 character>" if len(value) == 1 else f"<{len(value)} characters>"
    if isinstance(value, (list, tuple)):
        return [lengths(each, depth - 1) for each in value[:MOST_ITEMS]] if depth else CUT
    if isinstance(value, Mapping):
        items = islice(value.items(), MOST_ITEMS)
        return {name: lengths(each, depth - 1) for name, each in items} if depth else CUT
    return f"<{type(value).__name__}>" if value is None or isinstance(value, bool) else lengths(str(value))


def names(value: object) -> object:
    """Return names, one or a list of them, without parts that look like a secret that a platform issued."""
    return _each(without_issued, value)


def urls(value: object) -> object:
    """Return URLs, one or a list of them, without the values in their queries; for text that is no URL, its length."""
    return _each(_url, value)


def _url(text: str) -> str:
    return without_query_values(text) if _URL.match(text) else str(lengths(text))


def one_of(*words: str) -> InJournal:
    """Return an annotation that shows one of these words, else the length: it may be a secret in a wrong place."""
    return InJournal(lambda value: value if isinstance(value, str) and value in words else lengths(value))


def _each(show: Callable[[str], str], value: object) -> object:
    if type(value) is str:
        return show(value)
    if isinstance(value, list | tuple):
        return [_each(show, each) for each in islice(value, MOST_ITEMS) if not isinstance(each, list | tuple)]
    return show(value) if isinstance(value, str) else value


def redacted(value: object, depth: int = DEEPEST) -> object:
    """Return undeclared arguments for the journal: all names, without secret values.

    A value is hidden if its name sounds like a secret's; URLs and texts lose the secrets that a platform issued.
    """
    if isinstance(value, Mapping):
        if not depth:
            return {CUT: len(value)}
        shown = {
            str(name): HIDDEN if sounds_secret(str(name)) else redacted(each, depth - 1)
            for name, each in islice(value.items(), MOST_ITEMS)
        }
        return shown if len(value) <= MOST_ITEMS else {**shown, CUT: len(value) - MOST_ITEMS}
    if isinstance(value, list | tuple):
        if not depth:
            return [CUT]
        items = [redacted(each, depth - 1) for each in islice(value, MOST_ITEMS)]
        return items if len(value) <= MOST_ITEMS else [*items, CUT]
    if isinstance(value, str):
        return without_query_values(value) if _URL.match(value) else without_issued(value)
    return value


def sounds_secret(name: str) -> bool:
    """Return whether a name has a word for a secret, such as `apiKey`, `AUTH_TOKEN`, `password2`."""
    if len(name) > _LONGEST_NAME:
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    return any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDS) for word in words)


def holds_secret(annotation: Any) -> bool:
    """Return whether a type is one of pydantic's secrets, or contains one: in a union, a list, a record."""
    left, seen = [annotation], []
    while left:
        each = left.pop()
        if typing.get_origin(each) is Secret or each in (Secret, SecretStr, SecretBytes):
            return True
        if each not in seen:  # a record may hold its own kind
            seen.append(each)
            left += typing.get_args(each)
            left += [field.annotation for field in getattr(each, "model_fields", {}).values()]
    return False


def journaling(annotation: Any) -> Callable[[object], object] | None:
    """Return the journal's function of an `Annotated` type, or None."""
    marks = [each for each in typing.get_args(annotation)[1:] if isinstance(each, InJournal)]
    return marks[-1].show if marks else None
