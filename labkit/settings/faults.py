"""Faults that a lab is to have: plain data, the same in lab.yaml, in a cell and in a table of faults."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

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
_CHANGES = {"status", "body", "when", "if_status", "if_given", "if_answer", "delay", *FIELDS}
DOES: dict[Kind, frozenset[str]] = {  # what a fault can do at each kind of place
    "request": frozenset({*_CHANGES, "headers", "cut"}),
    "call": frozenset({*_CHANGES, "lost"}),
    "event": frozenset({"delay", "lost", "doubled", "late", "if_given", *FIELDS}),
    "outgoing": frozenset({*_CHANGES, "cut"}),
    "provider": frozenset({"does"}),
}
WHOM: dict[Kind, frozenset[str]] = {  # whom a fault can be meant for there
    "request": frozenset({"site", "product", "identity", "solution"}),
    "call": frozenset({"solution"}),
    "event": frozenset({"product", "identity", "solution"}),
    "outgoing": frozenset(),
    "provider": frozenset(),
}


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
Names = Annotated[tuple[Name, ...], BeforeValidator(_several), Field(min_length=1, max_length=MOST_VALUES)]
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


class FaultSettings(Model):
    """A named fault: where it hits (`settings.places`), what it does, how often, and whom.

    What it does: `status`, `body` (text, or data that is sent as JSON) and `headers` (an empty value takes one away)
    of an answer; `delay` in seconds of lab time; `cut`: the connection ends before the work, after it without an
    answer, or inside the answer; a call is `lost`: nothing is done, and it seems to have nothing to give; an event is
    `lost`, `doubled`, or `late` by seconds of lab time, so that others overtake it (`doubled` too: the second one is
    late); `does`: a provider's own fault.

    Fields of JSON, of a form, of the result of an operation or of an event it `drop`s, `replace`s where they are,
    `put`s there in any case, or `edit`s (`settings.edits`: `{updated: [times, 1000]}`). A field is a path:
    `users.0.email`, where a list means each of its items, `*` any name, and `.` alone the whole, which of a request
    and of an answer is the text of the body. Of these two, `@Name` is a header, and of a request `?name` a field of
    the query, `?` the query, `/` the path.

    when: `before` the work, instead of which there is the fault's answer, or which is given what was asked with its
    fields changed; or `after` it, where the answer is changed. Only where: `if_status`, the answer has this status;
    `if_given`, `if_answer`: a field of what was asked, or of the answer, fits a pattern, or with a `!` before it fits
    none (`!*`: it is not there).

    How often: the `first` so many, `every` n-th of those that it could hit, or by `chance` from 0 to 1.
    Whom: `site` (host), `product`, `identity`, `solution`, each a pattern or several.
    """

    where: Annotated[str, Field(min_length=1)]
    name: Text | None = None
    site: Names | None = None
    product: Names | None = None
    identity: Names | None = None
    solution: Names | None = None
    status: Status | None = None
    body: Annotated[Any, AfterValidator(_json)] = None
    headers: Headers | None = None
    delay: Time | None = None
    cut: Literal["before", "inside", "after"] | None = None
    when: Literal["before", "after"] | None = None
    if_status: Annotated[int, Field(strict=True, ge=100, le=599)] | None = None
    drop: Names | None = None
    replace: Fields | None = None
    put: Fields | None = None
    edit: Edits | None = None
    if_given: Conditions | None = None
    if_answer: Conditions | None = None
    lost: bool = False
    doubled: bool = False
    late: Time | None = None
    does: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)] | None = None
    first: Count | None = None
    every: Count | None = None
    chance: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None

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

    @field_validator(*sorted(frozenset().union(*DOES.values(), *WHOM.values())))
    @classmethod
    def _possible(cls, value: Any, info: ValidationInfo) -> Any:
        """Raises ValueError for what cannot be done at this kind of place."""
        where = info.data.get("where")
        if where is None or value is None or value is False:
            return value
        kind = place_of(where).kind
        able = DOES[kind] | WHOM[kind]
        if info.field_name not in able:
            article = "an" if kind[0] in "aeiou" else "a"
            raise ValueError(f"is not for {article} {kind} ({where}), but: {', '.join(sorted(able))}")
        return value

    @model_validator(mode="after")
    def _together(self) -> Self:
        """Raises ValueError for what cannot go together."""
        done = {name for name in ACTIONS if getattr(self, name) not in (None, False)}
        if not done:
            able = sorted(DOES[self.place.kind] & frozenset(ACTIONS))
            raise ValueError(f"expected what {self.where!r} is to meet, one of: {', '.join(able)}")
        for one, others in APART.items():
            if one in done and (wrong := sorted(done & others)):
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
        done = {name for name in ACTIONS if getattr(self, name) not in (None, False)}
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


ACTIONS = (*("status", "body", "headers", "delay", "cut", *FIELDS, "lost", "doubled", "late", "does"),)
APART = {
    "cut": frozenset({"status", "body", "headers", *FIELDS}),
    "body": frozenset(FIELDS),
    "lost": frozenset({"status", "body", "doubled", "late", "delay", *FIELDS}),
    "late": frozenset({"delay"}),
}
