"""What a fault can make of a value: `"lower"`, `["times", 1000]`, `["swap", "a", "b"]`, or a part as Python writes
it, `"[:-1]"`. A value of another kind than the edit is for stays as it is.

    lower upper strip            of a text
    sort turn [separator]        the items of a list, or of a text between separators, sorted or turned round
    compact                      a list without its nulls
    before after <text>          what stands before, or after, the first occurrence in a text
    swap <text> <text>           every occurrence in a text of the first by the second
    format <text>                a text in which {} stands for the value
    add times <number>           of a number, or of a text that is one, which stays a text
    round                        to a whole number
    text number json             the value as text; the number that a text is; the data that a text is in JSON
    quote unquote                percent-encoded, and back, with + for a space
    or <value>                   this value instead of an empty one
    not                          of a boolean
    list                         a list of the value alone
    keys values                  the names, or the values, of a table as a list
    field <name>                 of a table: the value of this name
    sibling <name>               the value that stands beside it, under this name
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
    """arguments: their types; optional: whether they may be left out."""

    function: Callable[..., Any]
    arguments: tuple[type | tuple[type, ...], ...] = ()
    optional: bool = False


def edit_of(written: Any) -> Edit:
    """The edit that a text or a list means. Raises ValueError with what was expected."""
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


def sibling_of(written: Any) -> str | None:
    """The name beside it whose value an edit takes; None for every other edit."""
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
    """A part of a text or of a list: an item, or a slice."""
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
    """The number that a text is, else the text."""
    found = _NUMBER.fullmatch(text)
    return text if found is None else float(text) if found[1] else int(text)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def as_text(value: Any) -> str:
    """A value as text: a text as it is, the rest as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


_KINDS: dict[str, _Kind] = {
    "lower": _Kind(_of_text(str.lower)),
    "upper": _Kind(_of_text(str.upper)),
    "strip": _Kind(_of_text(str.strip)),
    "sort": _Kind(_of_items(_sorted), (str,), optional=True),
    "turn": _Kind(_of_items(lambda items: items[::-1]), (str,), optional=True),
    "compact": _Kind(
        lambda value: [each for each in value if each is not None] if isinstance(value, list) else value
    ),
    "before": _Kind(_of_text(lambda text, mark: text.partition(mark)[0] if mark else text), (str,)),
    "after": _Kind(_of_text(lambda text, mark: text.partition(mark)[2] if mark else text), (str,)),
    "swap": _Kind(_of_text(lambda text, old, new: text.replace(old, new) if old else text), (str, str)),
    "format": _Kind(lambda value, form: form.replace("{}", as_text(value)), (str,)),
    "add": _Kind(_of_number(lambda number, more: number + more), ((int, float),)),
    "times": _Kind(_of_number(lambda number, factor: number * factor), ((int, float),)),
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
    "sibling": _Kind(lambda value, name: value, (str,)),  # `sibling_of` tells whose
    "field": _Kind(lambda value, name: value.get(name) if isinstance(value, dict) else value, (str,)),
}
