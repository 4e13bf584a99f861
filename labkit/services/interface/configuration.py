"""A publisher's configuration: its operations, events and parameters (document 3, Interface service configuration).

Extensions of the document: `type`; an entry of `parameters` accepts every keyword of a schema, and `restricted`, which
keeps scripts of a subscriber from setting the parameter; so does `x-exosite-restricted: true`, here and in the
properties of an operation's parameters. Names of operations and events have at most 100 characters. An
empty script counts as none.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    StrictBool,
    StringConstraints,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from labkit.core.errors import SettingsError
from labkit.services.addresses import address
from labkit.services.arguments import matching
from labkit.services.interface.keywords import Keywords, type_names
from labkit.services.interface.plain import Copier, Invalid, kind
from labkit.services.interface.schemas import Schema
from labkit.settings import Model, build

MOST_ITEMS = 20_000  # values in a configuration
MOST_CHARACTERS = 1_048_576  # of all texts together, scripts included
DEEPEST = 40  # nesting
MOST_ENTRIES = 500  # of operations, events, parameters or businesses

Mode = Literal["sync", "async"]

KEY = r"[A-Za-z][A-Za-z0-9]{1,62}"
ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
LUA_KEYWORDS = frozenset(  # Lua 5.2 reference manual, section 3.1
    "and break do else elseif end false for function goto if in local nil not or repeat return then true until "
    "while".split()
)
OWN_EVENTS = (
    "subscriberAdded",
    "subscriberRemoved",
    "subscriberUpdated",
)  # that the platform sends to publishers


def _email(text: str) -> str:
    plain = address(text)
    if "<" in plain:
        raise ValueError("expected a mail address alone, without a name")
    return plain


def _argument(schema: Schema) -> Schema:
    """Return the schema. Raises ValueError if its title cannot name an argument in Lua and in Python."""
    title = schema.title
    if not ARGUMENT.fullmatch(title) or title in LUA_KEYWORDS or keyword.iskeyword(title):
        raise ValueError("title: expected a name that an argument of a function can have")
    return schema


ScriptKey = Annotated[str, matching(KEY, "2 to 63 letters and digits, a letter first")]
Name = Annotated[str, matching(r"[A-Za-z][A-Za-z0-9]{1,99}", "a letter, then at least one letter or digit")]
ParameterName = Annotated[
    str, matching(r"[A-Za-z][A-Za-z0-9_]{2,99}", "3 to 100 letters, digits and underscores, a letter first")
]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=20)]
Short = Annotated[str, Field(max_length=100)]
Long = Annotated[str, Field(max_length=1000)]
Business = Annotated[str, StringConstraints(min_length=1, max_length=100)]
ParameterTypes = Annotated[  # without null, which a schema has
    tuple[Literal["array", "boolean", "integer", "number", "object", "string"], ...],
    BeforeValidator(type_names),
    Field(min_length=1),
]
Payload = Annotated[Schema, AfterValidator(_argument)]  # its title is the name of the handler's argument

ANYTHING = Schema()


class Contact(Model):
    """Person to contact about a publisher's service."""

    name: Short = ""
    email: Annotated[str, AfterValidator(_email)] | None = None


class ParameterDefinition(Keywords):
    """Parameter of the service, with a separate value for every subscriber."""

    name: ParameterName
    type: ParameterTypes = ("string",)
    description: Long | None = None
    restricted: StrictBool = False

    @property
    def is_restricted(self) -> bool:
        """Whether scripts of a subscriber cannot set the parameter."""
        return self.restricted or self.restricted_by_word

    @model_validator(mode="after")
    def _check_default(self) -> ParameterDefinition:
        Schema(self)  # raises if a default violates the schema
        return self


class OperationDefinition(Model):
    """Operation that subscribers can call. script: Lua, for a publisher without its own handler."""

    name: Name
    script: str = ""
    parameters: Payload = ANYTHING
    response: Schema = ANYTHING
    description: str = ""

    @model_validator(mode="after")
    def _check_name(self) -> OperationDefinition:
        if self.name in OWN_EVENTS:
            raise ValueError(f"name: {self.name} is an event of the publisher's own")
        return self

    @cached_property
    def restricted(self) -> frozenset[str]:
        """Names of the arguments that scripts cannot give: only the configuration of the subscription does."""
        properties = self.parameters.keywords.properties
        return frozenset(
            name
            for name, each in properties.items()
            if isinstance(each, Keywords) and each.restricted_by_word
        )


class EventDefinition(Model):
    """Event that a publisher can send. default_script: Lua, for a subscriber without its own handler."""

    name: Name
    parameters: Payload = ANYTHING
    response: Schema = ANYTHING
    description: str = ""
    default_script: str = ""


N = TypeVar("N", OperationDefinition, EventDefinition, ParameterDefinition)


def _by_name(kind: type[N]) -> GetPydanticSchema:
    """Return the pydantic schema of a list of entries, stored by name."""

    def schema(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        entries = core_schema.tuple_variable_schema(handler.generate_schema(kind), max_length=MOST_ENTRIES)
        return core_schema.no_info_after_validator_function(
            lambda given: {each.name: each for each in given}, entries
        )

    return GetPydanticSchema(schema)


class Definition(Model):
    """Configuration of a publisher.

    default_script_key: the name of the service at a subscriber that chooses none; scripts spell it with a capital first
    letter. whitelist: the businesses that may subscribe, all if empty. operations, events, parameters: by name, in the
    order of the configuration. mode: the default mode of `trigger` and `triggerOne`; None: async for `trigger`, sync
    for `triggerOne`. type: S (application) or P (connector).
    """

    default_script_key: ScriptKey
    name: Short
    description: Long = ""
    contact: Contact = Contact()
    tags: Annotated[tuple[Tag, ...], Field(max_length=10)] = ()
    whitelist: Annotated[tuple[Business, ...], Field(max_length=MOST_ENTRIES)] = ()
    parameters: Annotated[dict[str, ParameterDefinition], _by_name(ParameterDefinition)] = Field(
        default_factory=dict
    )
    operations: Annotated[dict[str, OperationDefinition], _by_name(OperationDefinition)] = Field(
        default_factory=dict
    )
    events: Annotated[dict[str, EventDefinition], _by_name(EventDefinition)] = Field(default_factory=dict)
    mode: Mode | None = None
    type: Literal["S", "P"] = "S"

    @classmethod
    def read(cls, plain: Mapping[str, Any], *, solution: str, name: str) -> Definition:
        """Return the definition from a solution's configuration. solution: its id; name: its name.

        Raises SettingsError naming the first wrong key, as `operations[0].name`.
        """
        try:
            given = Copier(MOST_ITEMS, MOST_CHARACTERS, DEEPEST).copy(plain)
        except Invalid as error:
            raise SettingsError(str(error)) from None
        if not isinstance(given, dict):
            raise SettingsError(f"expected a mapping, not {kind(given)}")
        # A key of YAML without a value, such as `events:`, counts as missing.
        given = {key: value for key, value in given.items() if value is not None}
        for section in ("parameters", "operations", "events"):
            _check_unique_names(section, given.get(section))
        given.setdefault("default_script_key", _key(given.get("name", name), solution))
        given.setdefault("name", given["default_script_key"])
        return build(cls, given)

    def allows(self, business: str) -> bool:
        """Return whether the whitelist lets a business use the service."""
        return not self.whitelist or business in self.whitelist

    @cached_property
    def restricted(self) -> frozenset[str]:
        """Names of the parameters that scripts of a subscriber cannot set."""
        return frozenset(name for name, each in self.parameters.items() if each.is_restricted)

    def warnings(self) -> Iterator[str]:
        """Yield a sentence for each word of the schemas that has no effect."""
        schemas: dict[str, Keywords] = {
            f"parameters[{number}]": each for number, each in enumerate(self.parameters.values())
        }
        entries: dict[str, Iterable[OperationDefinition | EventDefinition]] = {
            "operations": self.operations.values(),
            "events": self.events.values(),
        }
        for section, of_section in entries.items():
            for number, entry in enumerate(of_section):
                schemas[f"{section}[{number}].parameters"] = entry.parameters.keywords
                schemas[f"{section}[{number}].response"] = entry.response.keywords
        for where, schema in schemas.items():
            for path, similar in schema.unknown_words():
                yield f"{where}.{path}: unknown word of a schema, ignored{similar}"

    @cached_property
    def parameter_schema(self) -> Schema:
        """Schema of a subscriber's parameters; additional parameters are allowed."""
        return Schema(Keywords(type=("object",), properties=dict(self.parameters)))


def _check_unique_names(section: str, entries: object) -> None:
    """Raise SettingsError if two entries of a section have the same name."""
    seen: set[str] = set()
    for index, each in enumerate(entries if isinstance(entries, list) else ()):
        name = each.get("name") if isinstance(each, dict) else None
        if isinstance(name, str):
            if name in seen:
                raise SettingsError(f"{section}[{index}].name: {name} is given twice")
            seen.add(name)


def _key(name: object, solution: str) -> str:
    """Return the default of default_script_key: the name without special characters, or the solution's id."""
    for each in (name, solution):
        key = re.sub(r"[^A-Za-z0-9]", "", each) if isinstance(each, str) else ""
        if re.fullmatch(KEY, key):
            return key
    raise SettingsError(
        "default_script_key: is required, since none can be made of the name or the id of the solution"
    )
