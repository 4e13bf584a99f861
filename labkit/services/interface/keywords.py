"""Schema language of Interface: JSON Schema draft 7 with the keywords that the document lists.

Document 3, Resources, Interface service configuration. Beside them bounds in the form of draft 4
(`maximum: 5, exclusiveMaximum: true`), several types (a list), several schemas of items (a list). Where the
document is narrower than draft 7, it counts: an enum holds texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import re2
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    StrictBool,
    StrictFloat,
    StrictInt,
    Tag,
    model_validator,
)

from labkit.settings import Model

LONGEST_PATTERN = 1000  # characters
LARGEST_PATTERN = 500  # instructions of RE2, of a pattern and of all patterns of one patternProperties
MOST_PROPERTIES = 500  # that one schema names
MEMORY = 1 << 20  # bytes, of a pattern

SURROGATE = re.compile("[\ud800-\udfff]")

TypeName = Literal["array", "boolean", "integer", "null", "number", "object", "string"]


class Re2Pattern:
    """Regular expression run by RE2; the time of a match is linear in the text."""

    def __init__(self, text: str) -> None:
        """Compile an expression. Raises ValueError if RE2 does not support it, or would be slow."""
        if len(text) > LONGEST_PATTERN:
            raise ValueError(f"expected a pattern of at most {LONGEST_PATTERN} characters")
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True  # groups only group, which spares a second pass
        options.max_mem = MEMORY
        try:
            self._regex = re2.compile(text, options)
        except UnicodeEncodeError:
            raise ValueError("expected a pattern of valid Unicode") from None
        except re2.error as error:
            reason = error.args[0]
            reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
            raise ValueError(f"expected a pattern that RE2 knows: {reason}") from None
        self.text = text
        self.size: int = self._regex.programsize
        if self.size > LARGEST_PATTERN:
            raise ValueError(
                f"expected a pattern of at most {LARGEST_PATTERN} instructions, not {self.size}: repeat less"
            )

    def search(self, text: str) -> bool:
        """Return whether the expression matches anywhere in `text`; a lone surrogate there counts as U+FFFD."""
        try:
            found = self._regex.search(text)
        except UnicodeEncodeError:
            found = self._regex.search(SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text))
        return found is not None

    def __str__(self) -> str:
        return self.text


def _pattern(value: object) -> Re2Pattern:
    if not isinstance(value, str):
        raise ValueError("expected a pattern, a string")
    return Re2Pattern(value)


def _kind(value: object) -> str:
    return "flag" if isinstance(value, bool) else "several" if isinstance(value, list | tuple) else "one"


def _single(value: object) -> str:
    return "flag" if isinstance(value, bool) else "one"


def _names(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Compiled = Annotated[Any, PlainValidator(_pattern)]
Count = Annotated[int, Field(strict=True, ge=0)]
Bound = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]
Types = Annotated[tuple[TypeName, ...], BeforeValidator(_names), Field(min_length=1)]
# A schema or, as in draft 7, true (anything) or false (nothing).
Sub = Annotated[
    Annotated["Keywords", Tag("one")] | Annotated[StrictBool, Tag("flag")], Discriminator(_single)
]
Items = Annotated[
    Annotated["Keywords", Tag("one")]
    | Annotated[StrictBool, Tag("flag")]
    | Annotated[tuple[Sub, ...], Tag("several")],
    Discriminator(_kind),
]


class Keywords(Model):
    """One schema, as it was written; those within it too. See the module."""

    type: Types | None = None
    enum: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    title: Annotated[str, Field(max_length=100)] | None = None
    description: str | None = None
    format: Annotated[str, Field(max_length=100)] | None = None
    default: Any = None
    examples: list[Any] | None = None
    maximum: Bound | None = None
    minimum: Bound | None = None
    exclusiveMaximum: StrictBool | Bound | None = None  # noqa: N815 - the names are JSON Schema's
    exclusiveMinimum: StrictBool | Bound | None = None  # noqa: N815
    maxLength: Count | None = None  # noqa: N815
    minLength: Count | None = None  # noqa: N815
    pattern: Compiled | None = None
    items: Items | None = None
    additionalItems: Sub | None = None  # noqa: N815
    maxItems: Count | None = None  # noqa: N815
    minItems: Count | None = None  # noqa: N815
    uniqueItems: StrictBool = False  # noqa: N815
    required: tuple[str, ...] = ()
    properties: dict[str, Sub] = Field(default_factory=dict, max_length=MOST_PROPERTIES)
    patternProperties: dict[Compiled, Sub] = Field(default_factory=dict)  # noqa: N815
    additionalProperties: Sub | None = None  # noqa: N815
    maxProperties: Count | None = None  # noqa: N815
    minProperties: Count | None = None  # noqa: N815

    @model_validator(mode="after")
    def _whole(self) -> Keywords:
        for name, of in (("exclusiveMaximum", "maximum"), ("exclusiveMinimum", "minimum")):
            if getattr(self, name) is True and getattr(self, of) is None:
                raise ValueError(f"{name}: true needs {of}")
        size = sum(pattern.size for pattern in self.patternProperties)
        if size > LARGEST_PATTERN:
            raise ValueError(
                f"patternProperties: expected at most {LARGEST_PATTERN} instructions in all, not {size}"
            )
        return self

    @property
    def has_default(self) -> bool:
        return "default" in self.model_fields_set

    @property
    def holds_default(self) -> bool:
        """Return whether the schema or a schema within it has a default."""
        return self.has_default or any(inner.holds_default for _, inner in self.inner())

    def inner(self) -> Iterator[tuple[str, Keywords]]:
        """Yield the schemas directly within this one, with their paths."""
        found: dict[str, object] = {f"properties.{name}": each for name, each in self.properties.items()}
        for pattern, each in self.patternProperties.items():
            found[f"patternProperties.{pattern}"] = each
        if isinstance(self.items, tuple):
            found.update((f"items[{index}]", each) for index, each in enumerate(self.items))
        found["items"] = self.items
        found["additionalItems"] = self.additionalItems
        found["additionalProperties"] = self.additionalProperties
        for path, schema in found.items():
            if isinstance(schema, Keywords):
                yield path, schema

    def draft7(self) -> dict[str, Any]:
        """Return the schema in draft 7, without annotations; patterns are compiled, enum is a set."""
        schema: dict[str, Any] = {}
        for name in SIMPLE:
            value = getattr(self, name)
            if value is not None and value is not False and value != ():
                schema[name] = value
        if self.type:
            schema["type"] = list(self.type)
        if self.enum:
            schema["enum"] = dict.fromkeys(self.enum)
        for name, of in (("exclusiveMaximum", "maximum"), ("exclusiveMinimum", "minimum")):
            if schema.get(name) is True:
                schema[name] = schema.pop(of)
        for name in INNER:
            if (inner := getattr(self, name)) not in (None, {}):
                schema[name] = _draft7(inner)
        return schema


SIMPLE = (
    "type enum format maximum minimum exclusiveMaximum exclusiveMinimum maxLength minLength pattern "
    "maxItems minItems uniqueItems required maxProperties minProperties"
).split()
INNER = ("properties", "patternProperties", "items", "additionalItems", "additionalProperties")


def _draft7(schema: object) -> Any:
    """A schema, or those of a list or a mapping. `forbidden` is false with a path in its error."""
    if schema is False:
        return {"forbidden": True}
    if isinstance(schema, Keywords):
        return schema.draft7()
    if isinstance(schema, tuple):
        return [_draft7(each) for each in schema]
    return {key: _draft7(each) for key, each in schema.items()} if isinstance(schema, dict) else schema
