"""Truncation of values to a size, so that a record of many of them stays small."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from labkit.core.words import plural

ITEM = 32  # size of a number, a name or an item of a list, besides its characters
DEEPEST = 20  # levels of tables within tables; deeper ones are only counted
MORE = "…"
LARGEST_BITS = 10_000  # of a whole number; Python refuses to write a larger one as text
LARGE_NUMBER = "<a large number>"


def fits(value: object, longest: int, most: int) -> bool:
    """Return whether no text in `value` is longer than `longest`, and its total size is at most `most`.

    Text counts its characters, everything else a few. Other values than text, numbers, lists and tables count
    as small unless they have a length.
    """
    return _remaining(value, longest, most, DEEPEST) >= 0


def cut(value: object, longest: int, most: int) -> object:
    """Return `value` truncated so that it fits; omitted parts are counted. Only truncated parts are copied."""
    return _Truncator(longest, most).cut(value, DEEPEST)


def cut_text(text: str, longest: int) -> str:
    """Return the first characters of `text`, and the number of the omitted ones."""
    more = len(text) - longest
    return text if more <= 0 else f"{text[:longest]}{MORE} {_counted(more, 'character')}"


def _remaining(value: object, longest: int, left: int, depth: int) -> int:
    """Return the number of `left` characters that remain after `value`; negative if it does not fit."""
    exact = type(value)  # nearly always one of these: isinstance of unions would cost more than all the rest
    if exact is dict:
        inner: Iterable[object] = value.values()  # type: ignore[attr-defined]
        for name in value:  # type: ignore[attr-defined]
            if type(name) is str:
                left -= len(name)
    elif exact is list or exact is tuple:
        inner = value  # type: ignore[assignment]
    else:
        return _remaining_after_other(value, longest, left, depth)
    left -= ITEM * (1 + len(value))  # type: ignore[arg-type]
    if not depth or left < 0:
        return -1
    for each in inner:
        kind = type(each)
        if kind is str:  # by far the most
            size = len(each)  # type: ignore[arg-type]
            left = left - size if size <= longest else -1
        elif kind is int:
            left = left if each.bit_length() <= LARGEST_BITS else -1  # type: ignore[attr-defined]
        elif kind is not float and each is not None:
            left = _remaining(each, longest, left, depth - 1)
        if left < 0:
            return -1
    return left


def _remaining_after_other(value: object, longest: int, left: int, depth: int) -> int:
    """Return the remaining characters for a value that is no plain list or table."""
    if isinstance(value, str | bytes):
        return -1 if len(value) > longest else left - len(value) - ITEM
    if isinstance(value, list | tuple):
        return _remaining(tuple(value), longest, left, depth)
    if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
        return -1
    if not hasattr(value, "__len__"):
        return left - ITEM
    if isinstance(value, Mapping):
        return _remaining(dict(value.items()), longest, left, depth)
    return left - ITEM if len(value) <= longest else -1


class _Truncator:
    """Truncates one value: `most` is the remaining size of the whole."""

    def __init__(self, longest: int, most: int) -> None:
        self._longest = longest
        self._left = most

    def cut(self, value: object, depth: int) -> object:
        rest = _remaining(value, self._longest, self._left, depth)
        if rest >= 0:
            self._left = rest
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, bytes):
            return self._text(value.decode("latin-1"))
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple):
            return self._items(value, depth)
        if isinstance(value, int):
            return LARGE_NUMBER
        return f"<{type(value).__name__} of {_length(value):,}>"

    def _text(self, text: str) -> str:
        length = max(0, min(self._longest, self._left - ITEM))
        self._left -= min(len(text), length) + ITEM
        return cut_text(text, length)

    def _mapping(self, value: Mapping[object, object], depth: int) -> object:
        if not depth:
            return f"{MORE} {_counted(len(value), 'entry')}"
        kept: dict[object, object] = {}
        for name, each in value.items():
            if self._left <= ITEM:
                kept[MORE] = _counted(len(value) - len(kept), "entry")
                break
            if isinstance(name, str):
                name = self._text(name)
            kept[name] = self.cut(each, depth - 1)
        return kept

    def _items(self, value: list[object] | tuple[object, ...], depth: int) -> object:
        if not depth:
            return f"{MORE} {_counted(len(value), 'item')}"
        kept: list[object] = []
        for each in value:
            if self._left <= ITEM:
                kept.append(f"{MORE} {_counted(len(value) - len(kept), 'item')}")
                break
            kept.append(self.cut(each, depth - 1))
        return kept


def _counted(count: int, what: str) -> str:
    return f"{count:,} more {plural(count, what)}"


def _length(value: object) -> int:
    return len(value) if hasattr(value, "__len__") else 0
