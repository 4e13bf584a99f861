"""Faults that a lab is to have: plain data, the same in lab.yaml, in a cell and in a table of faults."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from labkit.core.keywords import Doc
from labkit.settings.edits import edit_of
from labkit.settings.places import Kind, Place, place_of
from labkit.settings.values import HEADER, Model, Text

MOST_VALUES = 100  # names, fields or headers of one fault
LONGEST_NAME = 256  # characters of each of them
LARGEST = 64 * 1024  # characters of a body or of what replaces fields, as JSON
LONGEST_TIME = 366 * 86400.0  # seconds
MOST_COUNT = 10**9
FRAMING = ("content-length", "transfer-encoding", "connection")

FIELDS = ("drop", "replace", "put", "edit")  # which change what is there
ANSWERED: tuple[Kind, ...] = ("request", "call", "outgoing")  # have an answer or a result
CHANGEABLE: tuple[Kind, ...] = (*ANSWERED, "event")  # have fields


@dataclass(frozen=True)
class Role:
    """What a key of a fault says: the action that it does, the scope that it hits, or a condition.

    places: kinds of places at which it is possible; apart: actions that an action cannot go with.
    """

    says: Literal["action", "scope", "condition"]
    places: tuple[Kind, ...]
    apart: tuple[str, ...] = ()


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _json(value: Any) -> Any:
    try:
        if len(json.dumps(value, allow_nan=False)) <= LARGEST:
            return value
    except (TypeError, ValueError, RecursionError):
        raise ValueError("expected text, numbers, lists and mappings, as JSON has them") from None
    raise ValueError(f"expected at most {LARGEST} characters, as JSON")


def _edit(value: Any) -> Any:
    edit_of(value)
    return _json(value)


def _header(name: str) -> str:
    if not HEADER.fullmatch(name) or name.lower() in FRAMING:
        raise ValueError(f"expected the name of a header that frames nothing, not {name!r}")
    return name


def _header_value(value: str) -> str:
    if any(character in value for character in "\r\n\0"):
        raise ValueError("expected a value on one line")
    return value


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Names = Annotated[
    tuple[Name, ...],
    BeforeValidator(_several, json_schema_input_type=Name | tuple[Name, ...]),
    Field(min_length=1, max_length=MOST_VALUES),
]
Status = Annotated[int, Field(strict=True, ge=200, le=599)]
Time = Annotated[float, Field(strict=True, gt=0, le=LONGEST_TIME, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1, le=MOST_COUNT)]
Fields = Annotated[dict[Name, Any], Field(min_length=1, max_length=MOST_VALUES), AfterValidator(_json)]
Edits = Annotated[
    dict[Name, Annotated[Any, AfterValidator(_edit)]], Field(min_length=1, max_length=MOST_VALUES)
]
Conditions = Annotated[
    dict[Name, Annotated[str, Field(max_length=4096)]], Field(min_length=1, max_length=MOST_VALUES)
]
Headers = Annotated[
    dict[
        Annotated[str, AfterValidator(_header)],
        Annotated[str, Field(max_length=4096), AfterValidator(_header_value)],
    ],
    Field(min_length=1, max_length=MOST_VALUES),
]


class FaultKeywords(TypedDict, total=False):
    """The settings of a fault as keyword arguments. None: not given."""

    name: str | None
    does: str | None
    delay: float | None
    cut: Literal["before", "inside", "after"] | None
    status: int | None
    body: Any
    headers: Mapping[str, str] | None
    drop: str | Iterable[str] | None
    replace: Mapping[str, Any] | None
    put: Mapping[str, Any] | None
    edit: Mapping[str, Any] | None
    lost: bool | None
    doubled: bool | None
    late: float | None
    when: Literal["before", "after"] | None
    if_status: int | None
    if_given: Mapping[str, str] | None
    if_answer: Mapping[str, str] | None
    site: str | Iterable[str] | None
    product: str | Iterable[str] | None
    identity: str | Iterable[str] | None
    solution: str | Iterable[str] | None
    first: int | None
    every: int | None
    chance: float | None


class FaultSettings(Model):
    """A named fault: where it hits (`settings.places`), what it does, whom it hits, and how often.

    Fields of JSON, of a form, of the result of an operation or of an event have a path: `users.0.email`, where a list
    means each of its items, `*` any name, and `.` alone the whole, which of a request and of an answer is the text of
    the body. Of these two, `@Name` is a header, and of a request `?name` a field of the query, `?` the query, `/` the
    path. A condition is a pattern for a field; with a `!` before it, it holds where the field does not match (`!*`:
    where there is no such field).
    """

    where: Annotated[str, Field(min_length=1)]
    name: Annotated[Text | None, Doc("name of the fault; `fault 1` and so on without it")] = None
    does: Annotated[
        Name | None,
        Role("action", ("provider",)),
        Doc("fault of a provider by its name, such as `slow`"),
    ] = None
    delay: Annotated[
        Time | None,
        Role("action", CHANGEABLE),
        Doc("seconds of lab time before the work goes on; events behind a delayed one wait with it"),
    ] = None
    cut: Annotated[
        Literal["before", "inside", "after"] | None,
        Role("action", ("request", "outgoing"), apart=("status", "body", "headers", *FIELDS)),
        Doc("end of the connection: before the work, after it without an answer, or inside the answer"),
    ] = None
    status: Annotated[Status | None, Role("action", ANSWERED), Doc("status of the answer")] = None
    body: Annotated[
        Any,
        AfterValidator(_json),
        Role("action", ANSWERED, apart=FIELDS),
        Doc("body of the answer, or result of the call: text, or data that is sent as JSON"),
    ] = None
    headers: Annotated[
        Headers | None,
        Role("action", ("request",)),
        Doc("headers of the answer; an empty value removes one"),
    ] = None
    drop: Annotated[Names | None, Role("action", CHANGEABLE), Doc("fields to remove, `users.email`")] = None
    replace: Annotated[Fields | None, Role("action", CHANGEABLE), Doc("values of existing fields")] = None
    put: Annotated[
        Fields | None,
        Role("action", CHANGEABLE),
        Doc("values of fields, which are added where they do not exist"),
    ] = None
    edit: Annotated[
        Edits | None,
        Role("action", CHANGEABLE),
        Doc('edits of fields: `{"updated": ["times", 1000], "items": "[:-1]"}`; a wrong one names all'),
    ] = None
    lost: Annotated[
        bool,
        Role("action", ("call", "event"), apart=("status", "body", "doubled", "late", "delay", *FIELDS)),
        Doc("a call does nothing and returns nothing; an event never arrives"),
    ] = False
    doubled: Annotated[bool, Role("action", ("event",)), Doc("an event arrives twice")] = False
    late: Annotated[
        Time | None,
        Role("action", ("event",), apart=("delay",)),
        Doc("seconds of lab time by which an event, or its double, is late: others overtake it"),
    ] = None
    when: Annotated[
        Literal["before", "after"] | None,
        Role("condition", ANSWERED),
        Doc("before the work: replaces it or changes what is asked; after it: changes the answer"),
    ] = None
    if_status: Annotated[
        Annotated[int, Field(strict=True, ge=100, le=599)] | None,
        Role("condition", ANSWERED),
        Doc("only where the answer has this status"),
    ] = None
    if_given: Annotated[
        Conditions | None,
        Role("condition", CHANGEABLE),
        Doc('only where fields of the request match patterns: `{"@Accept": "*json*"}`; `!` negates one'),
    ] = None
    if_answer: Annotated[
        Conditions | None, Role("condition", ANSWERED), Doc("only where fields of the answer match patterns")
    ] = None
    site: Annotated[Names | None, Role("scope", ("request",)), Doc("hosts that it hits, patterns too")] = None
    product: Annotated[
        Names | None, Role("scope", ("request", "event")), Doc("products that it hits, patterns too")
    ] = None
    identity: Annotated[
        Names | None, Role("scope", ("request", "event")), Doc("devices that it hits, patterns too")
    ] = None
    solution: Annotated[
        Names | None, Role("scope", ("request", "call", "event")), Doc("solutions that it hits, patterns too")
    ] = None
    first: Annotated[Count | None, Doc("number of hits after which it is spent")] = None
    every: Annotated[Count | None, Doc("n: it hits every n-th of those that it could hit")] = None
    chance: Annotated[
        Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None,
        Doc("probability of a hit, above 0 and up to 1, from the lab's seed"),
    ] = None

    @field_validator(*FIELDS)
    @classmethod
    def _no_framing(cls, fields: Any, info: ValidationInfo) -> Any:
        """Raises ValueError for a header that frames."""
        for each in fields or ():
            if each.startswith("@") and info.data.get("where", "").partition(" ")[2]:
                _header(each[1:])
        return fields

    @field_validator("where")
    @classmethod
    def _place(cls, where: str) -> str:
        place_of(where)
        return where

    @field_validator("*")
    @classmethod
    def _possible(cls, value: Any, info: ValidationInfo) -> Any:
        """Raises ValueError for what cannot be done at this kind of place."""
        where, name = info.data.get("where"), str(info.field_name)
        role = ROLES.get(name)
        if where is None or role is None or value is cls.model_fields[name].default:
            return value
        kind = place_of(where).kind
        if kind not in role.places:
            able = sorted(each for each, role in ROLES.items() if kind in role.places)
            article = "an" if kind[0] in "aeiou" else "a"
            raise ValueError(f"is not for {article} {kind} ({where}), but: {', '.join(able)}")
        return value

    @model_validator(mode="after")
    def _together(self) -> Self:
        """Raises ValueError for what cannot go together."""
        done = set(self.actions)
        if not done:
            able = sorted(each for each in ACTIONS if self.place.kind in ROLES[each].places)
            raise ValueError(f"expected what {self.where!r} is to meet, one of: {', '.join(able)}")
        for one in self.actions:
            if wrong := sorted(done.intersection(ROLES[one].apart)):
                raise ValueError(f"{one} cannot go with {', '.join(wrong)}")
        if self.place.kind == "outgoing" and self.cut == "inside":
            raise ValueError("cut: expected before or after for an outgoing request")
        if self.place.kind == "call" and self.status is not None and self.status < 400:
            raise ValueError("status: expected 400 to 599 for a call, which then gets an error object")
        for name in ("cut", "lost"):
            if name in done and self.when is not None:
                raise ValueError(f"when cannot go with {name}, which says it itself")
        if self.every is not None and self.chance is not None:
            raise ValueError("every cannot go with chance")
        return self

    @model_validator(mode="after")
    def _in_time(self) -> Self:
        """Raises ValueError for what cannot be at its time, before the work or after."""
        done = set(self.actions)
        for name in ("if_status", "if_answer"):
            if getattr(self, name) is not None and self.phase == "before":
                raise ValueError(f"{name} needs an answer, so it cannot go with what comes before the work")
        if self.when == "before" and done & {*FIELDS}:
            if wrong := sorted(done - {*FIELDS}):
                raise ValueError(f"{', '.join(wrong)} cannot go with what changes what is asked")
            if self.identity is not None:
                raise ValueError("identity: nobody knows whose a request is before it is changed")
        if self.when == "before" and "headers" in done and not done & {"status", "body"}:
            raise ValueError("headers before the work need a status or a body to go with")
        return self

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of what it does, in the order of the fields."""
        fields = type(self).model_fields
        return tuple(each for each in ACTIONS if getattr(self, each) is not fields[each].default)

    @property
    def place(self) -> Place:
        """Where it hits."""
        return place_of(self.where)

    @property
    def phase(self) -> Literal["before", "after"]:
        """Does it hit before the work is done, or after?"""
        if self.cut is not None:
            return "before" if self.cut == "before" else "after"
        if self.when is not None:
            return self.when
        if self.lost:
            return "before"
        if any(getattr(self, name) is not None for name in ("if_status", "if_answer", *FIELDS)):
            return "after"
        return "before" if self.status is not None or self.delay is not None else "after"


ROLES = {
    name: each
    for name, field in FaultSettings.model_fields.items()
    for each in field.metadata
    if isinstance(each, Role)
}
ACTIONS = tuple(name for name, role in ROLES.items() if role.says == "action")
