"""Edits, the changes that a fault can make to a value: `"lower"`, `["multiply", 1000]`, or a Python slice, `"[:-1]"`.

An edit leaves values of other types than its own unchanged.

    lower upper strip            the text in lower case, in upper case, without spaces around it
    sort reverse [separator]     the items of a list, or of a text split at the separator, sorted or reversed
    compact                      the list without its nulls
    before after <text>          the part of a text before, or after, the first occurrence of another
    replace <text> <text>        the text with every occurrence of the first replaced by the second
    format <text>                this text, with {} replaced by the value
    add multiply <number>        the sum or product; a text that contains a number stays a text
    round                        the number rounded to a whole one
    text number json             the value as text; the text parsed as a number; the text parsed as JSON
    quote unquote                the text percent-encoded, or decoded, with + for a space
    or <value>                   this value instead of an empty one
    not                          the negated boolean
    list                         a list with the value as its only item
    keys values                  a list of the names, or the values, of a mapping
    field <name>                 the value of this name in a mapping
    sibling <name>               the value of this name in the mapping that contains the edited value
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote_plus, unquote_plus

Edit = Callable[[Any], Any]

_SLICE = re.compile(r"\[(-?\d{1,9})?(?:(:)(-?\d{1,9})?(?::(-?[1-9]\d{0,8}))?)?\]", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?", re.ASCII)


class _Kind(NamedTuple):
    """A kind of edit. function: gets the value and the arguments; arguments: types; optional: may they be left out."""

    function: Callable[..., Any]
    arguments: tuple[type | tuple[type, ...], ...] = ()
    optional: bool = False


def parse_edit(written: Any) -> Edit:
    """Return the edit that a text or a list describes. Raises ValueError, listing all edits, for anything else."""
    name, *arguments = written if isinstance(written, list | tuple) and written else [written]
    if not isinstance(name, str):
        raise ValueError(_expected(written))
    if name.startswith("[") and not arguments:
        return _part(name)
    kind = _KINDS.get(name)
    fits = kind is not None and (
        (kind.optional and not arguments)
        or (
            len(arguments) == len(kind.arguments)
            and all(isinstance(given, type) for given, type in zip(arguments, kind.arguments, strict=True))
        )
    )
    if kind is None or not fits:
        raise ValueError(_expected(written))
    return lambda value: kind.function(value, *arguments)


def sibling_name(written: Any) -> str | None:
    """Return the name in an edit `["sibling", name]`; None for every other edit."""
    return (
        written[1]
        if isinstance(written, list | tuple) and written[:1] in (["sibling"], ("sibling",))
        else None
    )


def _expected(written: Any) -> str:
    return (
        f"expected an edit ({', '.join(_KINDS)}, or a part such as [:-1]) with its arguments, not {written!r}"
    )


def _part(text: str) -> Edit:
    """Return the edit of a Python index or slice, which selects a part of a text or a list."""
    found = _SLICE.fullmatch(text)
    if found is None or found[1] is found[2] is None:
        raise ValueError(f"expected a part as Python writes it, such as [0], [:-1] or [::-1], not {text!r}")
    first, colon, end, step = found.groups()
    if colon is None:
        at = int(first)
        return lambda value: (
            value[at] if isinstance(value, str | list) and -len(value) <= at < len(value) else value
        )
    part = slice(*(None if each is None else int(each) for each in (first, end, step)))
    return lambda value: value[part] if isinstance(value, str | list) else value


def _of_text(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda value, *arguments: function(value, *arguments) if isinstance(value, str) else value


def _of_items(arrange: Callable[[list[Any]], list[Any]]) -> Callable[..., Any]:
    def function(value: Any, separator: str = "") -> Any:
        if isinstance(value, str) and separator:
            return separator.join(arrange(value.split(separator)))
        return arrange(value) if isinstance(value, list) else value

    return function


def _sorted(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda each: each if isinstance(each, str) else json.dumps(each))


def _of_number(function: Callable[..., Any]) -> Callable[..., Any]:
    def changed(value: Any, *arguments: Any) -> Any:
        if isinstance(value, str):
            number = _number(value)
            return value if number is value else str(function(number, *arguments))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        return function(value, *arguments)

    return changed


def _round(value: float) -> float:
    return round(value) if math.isfinite(value) else value


def _number(text: str) -> Any:
    """Return the text parsed as a number, or unchanged if it is none."""
    found = _NUMBER.fullmatch(text)
    return text if found is None else float(text) if found[1] else int(text)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def as_text(value: Any) -> str:
    """Return a value as text: a text unchanged, other values as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


_KINDS: dict[str, _Kind] = {
    "lower": _Kind(_of_text(str.lower)),
    "upper": _Kind(_of_text(str.upper)),
    "strip": _Kind(_of_text(str.strip)),
    "sort": _Kind(_of_items(_sorted), (str,), optional=True),
    "reverse": _Kind(_of_items(lambda items: items[::-1]), (str,), optional=True),
    "compact": _Kind(
        lambda value: [each for each in value if each is not None] if isinstance(value, list) else value
    ),
    "before": _Kind(_of_text(lambda text, mark: text.partition(mark)[0] if mark else text), (str,)),
    "after": _Kind(_of_text(lambda text, mark: text.partition(mark)[2] if mark else text), (str,)),
    "replace": _Kind(_of_text(lambda text, old, new: text.replace(old, new) if old else text), (str, str)),
    "format": _Kind(lambda value, form: form.replace("{}", as_text(value)), (str,)),
    "add": _Kind(_of_number(lambda number, more: number + more), ((int, float),)),
    "multiply": _Kind(_of_number(lambda number, factor: number * factor), ((int, float),)),
    "round": _Kind(_of_number(_round)),
    "text": _Kind(as_text),
    "number": _Kind(_of_text(_number)),
    "json": _Kind(_of_text(_json)),
    "quote": _Kind(_of_text(quote_plus)),
    "unquote": _Kind(_of_text(unquote_plus)),
    "or": _Kind(lambda value, instead: instead if value in (None, "", [], {}) else value, (object,)),
    "not": _Kind(lambda value: not value if isinstance(value, bool) else value),
    "list": _Kind(lambda value: [value]),
    "keys": _Kind(lambda value: [*value] if isinstance(value, dict) else value),
    "values": _Kind(lambda value: [*value.values()] if isinstance(value, dict) else value),
    "sibling": _Kind(lambda value, name: value, (str,)),  # applied by the caller: see `sibling_name`
    "field": _Kind(lambda value, name: value.get(name) if isinstance(value, dict) else value, (str,)),
}
