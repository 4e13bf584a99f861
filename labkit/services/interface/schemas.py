"""Schemas of Interface: validation of payloads and their completion with defaults.

A schema is compiled once; each call only runs `Schema.filled`. That copies the value to plain JSON, within the limits
of `plain`, then inserts defaults, then validates. An empty Lua table may be a list or an object, so the copy gets the
form that the schema expects: if `type` includes `array` but not `object`, {} becomes [], and vice versa.

Choices: None (nil) as the whole value counts as missing, so the schema's default replaces it; within tables null is a
value. A missing object gets no defaults of its properties, unless the object has a default itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from labkit.core.errors import SettingsError
from labkit.services.interface.keywords import Keywords
from labkit.services.interface.plain import Copier, Invalid
from labkit.services.interface.validation import validator
from labkit.settings import build

__all__ = ["Invalid", "Schema"]

DEFAULT_TITLE = "event"  # document 3, title

ANYTHING = Keywords()


class Schema:
    """Compiled schema. As the type of a pydantic field, it is built from the schema's mapping.

    title: the name of the payload, and of a handler's argument.
    """

    def __init__(self, keywords: Keywords = ANYTHING) -> None:
        """Compile a schema. Raises Invalid if a default does not match its own schema."""
        self.keywords = keywords
        self.title = keywords.title or DEFAULT_TITLE
        self._filling = _Filling(keywords)
        self._validate = validator(keywords.draft7())
        for path, inner in keywords.subschemas():
            try:
                Schema(inner) if inner.contains_default else None
            except Invalid as error:
                raise error.below(path) from None
        if keywords.has_default:
            try:
                self.filled(keywords.default)
            except Invalid as error:
                raise error.below("default") from None

    def __repr__(self) -> str:
        return f"Schema({self.keywords.model_dump(exclude_unset=True)})"

    @classmethod
    def read(cls, plain: Mapping[str, Any], where: str = "schema") -> Schema:
        """Return the schema from a configuration's value at `where`. Raises SettingsError, naming the key."""
        try:
            return cls(build(Keywords, Copier().copy(plain), where))
        except Invalid as error:
            raise SettingsError(f"{where}: {error}") from None

    def filled(self, value: object) -> Any:
        """Return a plain copy of `value` with defaults at every level. Raises Invalid if it does not match."""
        copier = Copier()
        filled = self._filling.fill(copier.copy(value), copier)
        if filled is None and self.keywords.has_default:
            filled = self._filling.fill(copier.copy(self.keywords.default), copier)
        if self._validate is not None:
            self._validate(filled)
        return filled

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(cls, handler.generate_schema(Keywords))


class _Filling:
    """Completion of a value, and of the values within it, with the defaults of one schema."""

    def __init__(self, keywords: Keywords) -> None:
        types = keywords.type or ()
        self._form = ""  # the only form that an empty table may have; "" if it may have either
        if ("array" in types) != ("object" in types):
            self._form = "array" if "array" in types else "object"
        self._defaults = {
            name: inner.default
            for name, inner in keywords.properties.items()
            if isinstance(inner, Keywords) and inner.has_default
        }
        self._declared = keywords.properties.keys()
        self._properties = {name: _filling(inner) for name, inner in keywords.properties.items()}
        self._patterns = [(pattern, _filling(inner)) for pattern, inner in keywords.patternProperties.items()]
        self._others = _filling(keywords.additionalProperties)
        self._first: list[_Filling | None] = []
        self._items = _filling(keywords.additionalItems)
        if isinstance(keywords.items, tuple):
            self._first = [_filling(each) for each in keywords.items]
        else:
            self._items = _filling(keywords.items)
        inner = [*self._properties.values(), *(each for _, each in self._patterns), self._others]
        self._within_objects = any(inner)
        self._within_lists = any([*self._first, self._items])

    def __bool__(self) -> bool:
        """Return whether `fill` may change a value."""
        return bool(self._form or self._defaults or self._within_objects or self._within_lists)

    def fill(self, value: Any, copier: Copier) -> Any:
        """Complete `value`, a plain copy, in place and return it; return a new value if its form changes."""
        if isinstance(value, dict):
            if not value and self._form == "array":
                return []
            self._fill_object(value, copier)
        elif isinstance(value, list):
            if value:
                self._fill_list(value, copier)
            elif self._form == "object":
                return self.fill({}, copier)
        return value

    def _fill_object(self, value: dict[str, Any], copier: Copier) -> None:
        for name, default in self._defaults.items():
            if name not in value:
                value[name] = copier.copy(default)
        if self._within_objects:
            for name in value:
                for each in self._matching(name):
                    value[name] = each.fill(value[name], copier)

    def _matching(self, name: str) -> Iterator[_Filling]:
        """Yield the completions that apply to the entry with this name."""
        known = name in self._declared
        if known and (filling := self._properties[name]):
            yield filling
        for pattern, filling in self._patterns:
            if pattern.search(name):
                known = True
                if filling:
                    yield filling
        if not known and self._others:
            yield self._others

    def _fill_list(self, value: list[Any], copier: Copier) -> None:
        if self._within_lists:
            for index, each in enumerate(value):
                filling = self._first[index] if index < len(self._first) else self._items
                if filling:
                    value[index] = filling.fill(each, copier)


def _filling(schema: object) -> _Filling | None:
    """Return the completion for a schema; None if it never changes a value."""
    filling = _Filling(schema) if isinstance(schema, Keywords) else None
    return filling or None
