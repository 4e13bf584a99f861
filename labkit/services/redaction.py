"""Redaction of the arguments of calls for the journal."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import Secret, SecretBytes, SecretStr

from labkit.core.bounded import LARGE_NUMBER, LARGEST_BITS
from labkit.core.redaction import HIDDEN, is_secret_name, without_issued, without_query_values
from labkit.core.words import counted

CUT = "…"
DEEPEST = 8  # tables within tables
MOST_ITEMS = 100  # of one table

_URL = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]{0,30}:/")
_FIELD = re.compile(r"([\w.-]+)=([^&;\s]+)")  # of a form, or of a device's answer
_JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]*")


@dataclass(frozen=True, slots=True)
class InJournal:
    """Annotation of an argument whose value the journal shows in another form. show: returns that form.

    Unlike a secret (pydantic's SecretStr), the value is shown unchanged if `journal.values` is set.
    """

    show: Callable[[object], object]


def lengths(value: object, depth: int = DEEPEST) -> object:
    """Return a value with every text in it replaced by its length."""
    kind = type(value)  # the usual types first, since every Keystore call runs this
    if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
        return LARGE_NUMBER
    if kind is int or kind is float:
        value = str(value)
    if isinstance(value, (str, bytes)):
        return f"<{counted(len(value), 'character')}>"
    if isinstance(value, (list, tuple)):
        return [lengths(each, depth - 1) for each in value[:MOST_ITEMS]] if depth else CUT
    if isinstance(value, Mapping):
        items = islice(value.items(), MOST_ITEMS)
        return {name: lengths(each, depth - 1) for name, each in items} if depth else CUT
    return f"<{type(value).__name__}>" if value is None or isinstance(value, bool) else lengths(str(value))


def names(value: object) -> object:
    """Return a name, or a list of names, without parts that look like a secret issued by a platform."""
    return _map_texts(without_issued, value)


def urls(value: object) -> object:
    """Return a URL, or a list of URLs, without the values in the query; another text becomes its length."""
    return _map_texts(_url, value)


def _url(text: str) -> str:
    return without_query_values(text) if _URL.match(text) else str(lengths(text))


def words_or_lengths(*words: str) -> InJournal:
    """Return an annotation that shows these words, but only the length of other text, which may be a secret."""
    return InJournal(lambda value: value if isinstance(value, str) and value in words else lengths(value))


def _map_texts(show: Callable[[str], str], value: object) -> object:
    if type(value) is str:
        return show(value)
    if isinstance(value, list | tuple):
        return [
            _map_texts(show, each) for each in islice(value, MOST_ITEMS) if not isinstance(each, list | tuple)
        ]
    return show(value) if isinstance(value, str) else value


def redacted(value: object, depth: int = DEEPEST) -> object:
    """Return undeclared arguments for the journal, without secret values.

    A value is hidden if its name suggests a secret; secrets issued by a platform are removed from URLs and texts.
    """
    if isinstance(value, Mapping):
        if not depth:
            return {CUT: len(value)}
        shown = {
            str(name): HIDDEN if is_secret_name(str(name)) else redacted(each, depth - 1)
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


def shown_text(text: str) -> str:
    """Return a text for the journal, without the secrets that a platform has issued.

    Of JSON and of forms, values whose names suggest a secret are hidden.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict | list):
        return json.dumps(redacted(data), ensure_ascii=False)
    text = _JWT.sub(HIDDEN, without_issued(text))
    return _FIELD.sub(lambda each: f"{each[1]}={HIDDEN}" if is_secret_name(each[1]) else each[0], text)


def shown_answer(operation: str, answer: object) -> object:
    """Return what an operation returned, for the journal, without secret values.

    A bare value is hidden if the operation's name suggests a secret, as that of `getUserToken` does.
    """
    found = redacted({operation: answer})
    return _with_texts(found[operation]) if isinstance(found, Mapping) else HIDDEN


def _with_texts(value: object) -> object:
    """Return redacted data in which each text is as of `shown_text`."""
    if isinstance(value, Mapping):
        return {name: _with_texts(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_texts(each) for each in value]
    return shown_text(value) if isinstance(value, str) else value


def contains_secret(annotation: Any) -> bool:
    """Return whether a type is one of pydantic's secrets, or contains one: in a union, a list, a record."""
    left, seen = [annotation], []
    while left:
        each = left.pop()
        if typing.get_origin(each) is Secret or each in (Secret, SecretStr, SecretBytes):
            return True
        if each not in seen:  # a record type may contain itself
            seen.append(each)
            left += typing.get_args(each)
            left += [field.annotation for field in getattr(each, "model_fields", {}).values()]
    return False


def journal_form(annotation: Any) -> Callable[[object], object] | None:
    """Return the function of an `Annotated` type's InJournal annotation, or None."""
    marks = [each for each in typing.get_args(annotation)[1:] if isinstance(each, InJournal)]
    return marks[-1].show if marks else None
