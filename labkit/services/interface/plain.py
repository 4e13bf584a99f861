"""Copy of values from other solutions to plain JSON, with limits on size and depth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

DEEPEST = 32  # tables within tables
MOST_ITEMS = 10_000  # all values together: items of lists, entries of tables
MOST_CHARACTERS = 131_072  # of all texts and names together
MOST_BITS = 1024  # of a whole number; a float has as many

KINDS: dict[type[Any] | None, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
INFINITE = "infinity or NaN"


class Invalid(ValueError):
    """Error of an invalid value.

    path: its place, such as `lights[0].name`, empty for the whole value; message: what was expected there. Neither
    contains the value.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.path = path

    def below(self, key: str | int) -> Invalid:
        """Return the same error for the value that contains this one under `key`."""
        return Invalid(self.message, joined((key,)) + (f".{self.path}" if self._named() else self.path))

    def _named(self) -> bool:
        return bool(self.path) and not self.path.startswith("[")


class Copier:
    """Copier of values to plain dicts, lists, texts, numbers, booleans and None; all its copies share the limits."""

    def __init__(
        self, most_items: int = MOST_ITEMS, most_characters: int = MOST_CHARACTERS, deepest: int = DEEPEST
    ) -> None:
        self._most_items = self._items = most_items
        self._most_characters = self._characters = most_characters
        self._deepest = deepest

    def copy(self, value: object) -> Any:
        """Return a copy of `value`. Raises Invalid if it is too large, too deep, or not representable in JSON."""
        return self._copy(value, self._deepest)

    def _copy(self, value: object, depth: int) -> Any:
        self._items -= 1
        if self._items < 0:
            raise Invalid(f"expected at most {self._most_items} values in all")
        if isinstance(value, str):
            self._count_characters(value)
            return str(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, float):
            return float(value)
        if isinstance(value, int):
            if value.bit_length() > MOST_BITS:
                raise Invalid(f"expected a number of at most {MOST_BITS} bits")
            return int(value)
        if not isinstance(value, (dict, list, tuple, Mapping)):  # Mapping last, since it is slow to ask
            raise Invalid(f"expected a value of JSON, not {type(value).__name__}")
        if not depth:
            raise Invalid(f"expected at most {self._deepest} levels")
        return (
            self._list(value, depth - 1)
            if isinstance(value, (list, tuple))
            else self._object(value, depth - 1)
        )

    def _object(self, value: Mapping[Any, object], depth: int) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        for name, each in value.items():
            if not isinstance(name, str):
                raise Invalid(f"expected texts as names, not {type(name).__name__}")
            self._count_characters(name)
            try:
                copied[name] = self._copy(each, depth)
            except Invalid as error:
                raise error.below(name) from None
        return copied

    def _list(self, value: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
        copied: list[Any] = []
        for index, each in enumerate(value):
            try:
                copied.append(self._copy(each, depth))
            except Invalid as error:
                raise error.below(index) from None
        return copied

    def _count_characters(self, text: str) -> None:
        self._characters -= len(text)
        if self._characters < 0:
            raise Invalid(f"expected at most {self._most_characters} characters in all")


LONGEST_NAME = 64  # characters of a name in a path


def joined(path: tuple[str | int, ...] | list[str | int]) -> str:
    """Return a path as errors show it: `lights[0].name`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if len(part) <= LONGEST_NAME else f"{part[:LONGEST_NAME]}…"
            text += f".{name}" if text else name
    return text


def kind(value: object) -> str:
    """Return the JSON Schema type of a plain value."""
    if isinstance(value, float) and not math.isfinite(value):
        return INFINITE
    return KINDS[type(value)]
