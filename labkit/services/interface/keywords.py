"""Schema language of Interface: JSON Schema draft 7, limited to the keywords that document 3 lists.

Source: document 3, Resources, Interface service configuration. Also accepted: bounds in the form of draft 4
(`maximum: 5, exclusiveMaximum: true`), a list of types, a list of schemas in `items`. Where the document allows less
than draft 7, the document applies: the values of an enum are texts. Other words are stored and have no effect, as
draft 7 says of words that a program does not know (JSON Schema Core, section 6.4); `unknown_words` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import re2
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    StrictBool,
    StrictFloat,
    StrictInt,
    Tag,
    model_validator,
)

from labkit.core.errors import did_you_mean
from labkit.settings import Model

RESTRICTED = "x-exosite-restricted"  # the word by which public folders keep scripts from setting a parameter
LONGEST_PATTERN = 1000  # characters
LARGEST_PATTERN = (
    500  # RE2 instructions of one pattern, and of all patterns of one patternProperties together
)
MOST_PROPERTIES = 500  # entries of one schema's `properties`
PATTERN_MEMORY = 1 << 20  # bytes that RE2 may use for one pattern

SURROGATE = re.compile("[\ud800-\udfff]")

TypeName = Literal["array", "boolean", "integer", "null", "number", "object", "string"]


class Re2Pattern:
    """Regular expression run by RE2; the time of a match is linear in the text."""

    def __init__(self, text: str) -> None:
        """Compile an expression. Raises ValueError if RE2 does not support it or it exceeds the limits above."""
        if len(text) > LONGEST_PATTERN:
            raise ValueError(f"expected a pattern of at most {LONGEST_PATTERN} characters")
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True  # a capturing group would cost a second pass over the text
        options.max_mem = PATTERN_MEMORY
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


def _compiled(value: object) -> Re2Pattern:
    if not isinstance(value, str):
        raise ValueError("expected a pattern, a string")
    return Re2Pattern(value)


def _items_form(value: object) -> str:
    """Return the tag of the form in which `items` is written: a boolean, a list of schemas, or one schema."""
    return "flag" if isinstance(value, bool) else "several" if isinstance(value, list | tuple) else "one"


def _schema_form(value: object) -> str:
    """Return the tag of the form in which a schema is written: a boolean or a mapping."""
    return "flag" if isinstance(value, bool) else "one"


def type_names(value: object) -> object:
    """Return the value of `type` as a sequence; a single name becomes a tuple of one."""
    return (value,) if isinstance(value, str) else value


Pattern = Annotated[Any, PlainValidator(_compiled)]
Count = Annotated[int, Field(strict=True, ge=0)]
Bound = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]
Types = Annotated[tuple[TypeName, ...], BeforeValidator(type_names), Field(min_length=1)]
# A schema or, as in draft 7, true (every value is valid) or false (none is).
Subschema = Annotated[
    Annotated["Keywords", Tag("one")] | Annotated[StrictBool, Tag("flag")], Discriminator(_schema_form)
]
Items = Annotated[
    Annotated["Keywords", Tag("one")]
    | Annotated[StrictBool, Tag("flag")]
    | Annotated[tuple[Subschema, ...], Tag("several")],
    Discriminator(_items_form),
]


class Keywords(Model):
    """Parsed schema with its subschemas; the fields are the keywords of JSON Schema.

    restricted_by_word: whether scripts may not set the parameter (`x-exosite-restricted: true`). Other unknown words
    are stored in `model_extra`.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

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
    pattern: Pattern | None = None
    items: Items | None = None
    additionalItems: Subschema | None = None  # noqa: N815
    maxItems: Count | None = None  # noqa: N815
    minItems: Count | None = None  # noqa: N815
    uniqueItems: StrictBool = False  # noqa: N815
    required: tuple[str, ...] = ()
    properties: dict[str, Subschema] = Field(default_factory=dict, max_length=MOST_PROPERTIES)
    patternProperties: dict[Pattern, Subschema] = Field(default_factory=dict)  # noqa: N815
    additionalProperties: Subschema | None = None  # noqa: N815
    maxProperties: Count | None = None  # noqa: N815
    minProperties: Count | None = None  # noqa: N815
    restricted_by_word: Annotated[StrictBool, Field(alias=RESTRICTED)] = False

    @model_validator(mode="after")
    def _check_combinations(self) -> Keywords:
        """Raise ValueError for keywords that are valid by themselves but not together."""
        for name, bound in (("exclusiveMaximum", "maximum"), ("exclusiveMinimum", "minimum")):
            if getattr(self, name) is True and getattr(self, bound) is None:
                raise ValueError(f"{name}: true needs {bound}")
        size = sum(pattern.size for pattern in self.patternProperties)
        if size > LARGEST_PATTERN:
            raise ValueError(
                f"patternProperties: expected at most {LARGEST_PATTERN} instructions in all, not {size}"
            )
        return self

    @property
    def has_default(self) -> bool:
        """Whether the schema has `default`, which may also be null."""
        return "default" in self.model_fields_set

    @property
    def contains_default(self) -> bool:
        """Whether the schema or one of its subschemas, at any depth, has `default`."""
        return self.has_default or any(each.contains_default for _, each in self.subschemas())

    def subschemas(self) -> Iterator[tuple[str, Keywords]]:
        """Yield the direct subschemas, each with its path within this schema, such as `properties.name`."""
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

    def unknown_words(self) -> Iterator[tuple[str, str]]:
        """Yield the path of each unknown word in this schema and its subschemas, and how to spell it if it is a typo.

        The spelling is text such as "; did you mean maxLength?", or empty.
        """
        for name in self.model_extra or ():
            yield name, "" if name.startswith(("x-", "$")) else did_you_mean(name, type(self).model_fields)
        for path, inner in self.subschemas():
            yield from ((f"{path}.{name}", similar) for name, similar in inner.unknown_words())

    def draft7(self) -> dict[str, Any]:
        """Return the schema for `validation.validator`, as draft 7 without annotations.

        Unlike in draft 7, patterns are compiled, and `enum` is a dict with its values as keys, for a quick look-up.
        """
        schema: dict[str, Any] = {}
        for name in PLAIN_KEYWORDS:
            value = getattr(self, name)
            if value is not None and value is not False and value != ():
                schema[name] = value
        if self.type:
            schema["type"] = list(self.type)
        if self.enum:
            schema["enum"] = dict.fromkeys(self.enum)
        for name, bound in (("exclusiveMaximum", "maximum"), ("exclusiveMinimum", "minimum")):
            if schema.get(name) is True:
                schema[name] = schema.pop(bound)
        for name in SUBSCHEMA_KEYWORDS:
            if (value := getattr(self, name)) not in (None, {}):
                schema[name] = _draft7(value)
        return schema


# Keywords whose value draft7() copies, and keywords whose value contains subschemas.
PLAIN_KEYWORDS = (
    "type enum format maximum minimum exclusiveMaximum exclusiveMinimum maxLength minLength pattern "
    "maxItems minItems uniqueItems required maxProperties minProperties"
).split()
SUBSCHEMA_KEYWORDS = ("properties", "patternProperties", "items", "additionalItems", "additionalProperties")


def _draft7(value: object) -> Any:
    """Return a subschema, or a list or mapping of subschemas, in the form of Keywords.draft7."""
    if isinstance(value, Keywords):
        return value.draft7()
    if isinstance(value, tuple):
        return [_draft7(each) for each in value]
    return {key: _draft7(each) for key, each in value.items()} if isinstance(value, dict) else value
