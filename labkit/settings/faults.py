"""Settings of faults of a lab: plain data, the same in lab.yaml, in a cell and in a table of faults (faults.toml)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from labkit.core.keywords import Doc
from labkit.settings.fault_values import (
    Conditions,
    Count,
    Edits,
    Fields,
    Headers,
    Name,
    Names,
    Span,
    Spent,
    Status,
    Time,
    header_name,
    plain_json,
)
from labkit.settings.places import MAX_LENGTH, Kind, Place, parse_place
from labkit.settings.values import Model, Text

FIELDS = ("drop", "replace", "put", "edit")  # actions that change fields of a request, an answer or an event
ANSWERED: tuple[Kind, ...] = ("request", "call", "outgoing")  # kinds of places with an answer or a result
CHANGEABLE: tuple[Kind, ...] = (*ANSWERED, "event")  # kinds of places with fields
PASSING: tuple[Kind, ...] = (*CHANGEABLE, "message")  # kinds of places where something passes


@dataclass(frozen=True)
class Role:
    """Role of a key of FaultSettings: an action of the fault, the scope that it hits, or a condition.

    places: kinds of places at which the key is possible; excludes: actions that cannot be combined with this one.
    """

    kind: Literal["action", "scope", "condition"]
    places: tuple[Kind, ...]
    excludes: tuple[str, ...] = ()


class FaultKeywords(TypedDict, total=False):
    """The settings of a fault as keyword arguments. None: not given."""

    name: str | None
    does: str | None
    delay: float | Iterable[float] | None
    cut: Literal["before", "inside", "after"] | None
    status: int | None
    body: Any
    headers: Mapping[str, str] | None
    drop: str | Iterable[str] | None
    replace: Mapping[str, Any] | None
    put: Mapping[str, Any] | None
    edit: Mapping[str, Any] | None
    lost: bool | None
    forget: bool | None
    doubled: bool | None
    late: float | None
    restart: bool | None
    down: float | None
    when: Literal["before", "after"] | None
    if_status: int | None
    if_given: Mapping[str, str] | None
    if_answer: Mapping[str, str] | None
    site: str | Iterable[str] | None
    product: str | Iterable[str] | None
    identity: str | Iterable[str] | None
    solution: str | Iterable[str] | None
    scripts: bool | None
    first: int | None
    every: int | None
    chance: float | None
    after: float | None
    seconds: float | None


class FaultSettings(Model):
    """A named fault: its place (`settings.places`), its actions, its scope and conditions, and its frequency.

    where: the place that it hits, such as `POST /onep:v1/stack/alias`, `User.listUsers` or `device datapoint`.

    A field of JSON, of a form, of an operation's result or of an event is addressed by a path such as `users.0.email`.
    A path that leads through a list without an index means each item, `*` means any name, and `.` alone the whole
    value: for a request or an answer, the text of the body. `@Name` is a header of a request or an answer; of a
    request, `?name` is a parameter of the query, `?` the whole query and `/` the path. A condition is a pattern for a
    field; with `!` before it, the field must not match (`!*`: the field must not exist).
    """

    where: Annotated[
        str,
        Field(min_length=1, json_schema_extra={"maxLength": MAX_LENGTH}),
        Doc(
            "a request `POST /path`, an operation `Keystore.set`, an event `device datapoint`, an outgoing request "
            "`https://example.com/path`, a provider's step `provider google token` or messages `WEBSOCKET /path "
            "sent`; `*` matches any characters"
        ),
    ]
    name: Annotated[Text | None, Doc("name of the fault; `fault 1` and so on without it")] = None
    does: Annotated[
        Name | None,
        Role("action", ("provider",)),
        Doc("name of a provider's fault, such as `slow`"),
    ] = None
    delay: Annotated[
        Span | None,
        Role("action", PASSING),
        Doc(
            "delay in seconds of lab time; `[0.1, 2]` draws each between two numbers, from the lab's seed; events "
            "behind a delayed one wait, too, and so do messages that a websocket receives"
        ),
    ] = None
    cut: Annotated[
        Literal["before", "inside", "after"] | None,
        Role("action", ("request", "outgoing", "message"), excludes=("status", "body", "headers", *FIELDS)),
        Doc(
            "close the connection: before processing, after it without an answer, or inside the answer, after half of "
            "its body; at a message of a websocket before or after it, or inside of one that is sent"
        ),
    ] = None
    status: Annotated[Status | None, Role("action", ANSWERED), Doc("status of the answer")] = None
    body: Annotated[
        Any,
        AfterValidator(plain_json),
        Role("action", ANSWERED, excludes=FIELDS),
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
        Doc(
            'edits of fields: `{"updated": ["multiply", 1000], "items": "[:-1]"}`; see labkit.settings.edits'
        ),
    ] = None
    lost: Annotated[
        bool,
        Role(
            "action",
            ("call", "event", "message"),
            excludes=("status", "body", "doubled", "late", "delay", "cut", *FIELDS),
        ),
        Doc("a call does nothing and returns nothing; an event or a message never arrives"),
    ] = False
    forget: Annotated[
        bool,
        Role("action", ("request",), excludes=("cut", "status", "body", "headers", *FIELDS)),
        Doc("the platform loses the credentials of the device before it processes the request: 401"),
    ] = False
    doubled: Annotated[
        bool, Role("action", ("event", "message")), Doc("an event or a message arrives twice")
    ] = False
    late: Annotated[
        Time | None,
        Role("action", ("event",), excludes=("delay",)),
        Doc("seconds of lab time by which an event, or its duplicate, is late; later events overtake it"),
    ] = None
    restart: Annotated[
        bool,
        Role(
            "action",
            CHANGEABLE,
            excludes=("cut", "status", "body", "headers", "lost", "forget", "doubled", "late", *FIELDS),
        ),
        Doc(
            "the platform loses its power at that moment and starts again (see `lab.restart`): the request, call or "
            "event is lost, and so are all others in progress, which get no answer; so does a request whose event "
            "restarts it, although its work is stored; with `when: after`, once its work is done"
        ),
    ] = False
    down: Annotated[
        Spent | None,
        Role("condition", CHANGEABLE),
        Doc(
            "seconds of lab time for which the platform refuses connections after a `restart`; without it, or with 0, "
            "none is refused: a new connection waits until the platform is up"
        ),
    ] = None
    when: Annotated[
        Literal["before", "after"] | None,
        Role("condition", ANSWERED),
        Doc("before processing: answer instead, or change the request; after: change the answer"),
    ] = None
    if_status: Annotated[
        Annotated[int, Field(strict=True, ge=100, le=599)] | None,
        Role("condition", ANSWERED),
        Doc("only if the answer has this status"),
    ] = None
    if_given: Annotated[
        Conditions | None,
        Role("condition", PASSING),
        Doc('only if fields of the request match patterns: `{"@Accept": "*json*"}`; `!` negates one'),
    ] = None
    if_answer: Annotated[
        Conditions | None, Role("condition", ANSWERED), Doc("only if fields of the answer match patterns")
    ] = None
    site: Annotated[
        Names | None, Role("scope", ("request",)), Doc("host names that it hits, or patterns")
    ] = None
    product: Annotated[
        Names | None, Role("scope", ("request", "event")), Doc("products that it hits, or patterns")
    ] = None
    identity: Annotated[
        Names | None,
        Role("scope", ("request", "event")),
        Doc("identities of devices that it hits, or patterns"),
    ] = None
    solution: Annotated[
        Names | None,
        Role("scope", ("request", "call", "event", "message")),
        Doc("solutions that it hits, or patterns"),
    ] = None
    scripts: Annotated[
        bool,
        Role("scope", ("call",)),
        Doc(
            "only calls of scripts and handlers, not those of cells and of other code outside of the platform"
        ),
    ] = False
    first: Annotated[Count | None, Doc("number of hits after which it ends")] = None
    every: Annotated[
        Count | None,
        Doc("n: it hits every n-th request, call or event of its scope, counted over all devices"),
    ] = None
    chance: Annotated[
        Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None,
        Doc("probability of a hit, above 0 and up to 1, from the lab's seed"),
    ] = None
    after: Annotated[
        Time | None,
        Doc(
            "seconds of lab time after which it begins, from when it is added: that of lab.yaml from the start"
        ),
    ] = None
    seconds: Annotated[
        Time | None,
        Doc("seconds of lab time after which it ends, from when it begins; what it delays then goes on"),
    ] = None

    @field_validator(*FIELDS)
    @classmethod
    def _check_framing(cls, fields: Any, info: ValidationInfo) -> Any:
        """Raise ValueError for a header that sets the framing of a message."""
        for each in fields or ():
            if each.startswith("@") and info.data.get("where", "").partition(" ")[2]:
                header_name(each[1:])
        return fields

    @field_validator("where")
    @classmethod
    def _parse_place(cls, where: str) -> str:
        parse_place(where)
        return where

    @field_validator("*")
    @classmethod
    def _check_place(cls, value: Any, info: ValidationInfo) -> Any:
        """Raise ValueError for a key that is not possible at this kind of place."""
        where, name = info.data.get("where"), str(info.field_name)
        role = ROLES.get(name)
        if where is None or role is None or value is cls.model_fields[name].default:
            return value
        kind = parse_place(where).kind
        if kind not in role.places:
            able = sorted(each for each, role in ROLES.items() if kind in role.places)
            article = "an" if kind[0] in "aeiou" else "a"
            raise ValueError(f"is not for {article} {kind} ({where}), but: {', '.join(able)}")
        return value

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        """Raise ValueError for a missing action, and for keys that cannot be combined."""
        done = set(self.actions)
        if not done:
            able = sorted(each for each in ACTIONS if self.place.kind in ROLES[each].places)
            raise ValueError(f"expected an action for {self.where!r}, one of: {', '.join(able)}")
        for one in self.actions:
            if wrong := sorted(done.intersection(ROLES[one].excludes)):
                raise ValueError(f"{one} cannot go with {', '.join(wrong)}")
        if self.place.kind == "outgoing" and self.cut == "inside":
            raise ValueError("cut: expected before or after for an outgoing request")
        if self.place.kind == "message" and self.cut == "inside" and self.place.first != "sent":
            raise ValueError("cut: inside is for messages that are sent (WEBSOCKET /path sent)")
        if self.place.kind == "call" and self.status is not None and self.status < 400:
            raise ValueError("status: expected 400 to 599 for a call, which then gets an error object")
        for name in ("cut", "lost", "forget"):
            if name in done and self.when is not None:
                raise ValueError(f"when cannot go with {name}, which implies it")
        if self.place.kind == "event" and {"restart", "delay"} <= done:
            raise ValueError("restart cannot go with delay for an event, which is lost with the power")
        if self.down is not None and not self.restart:
            raise ValueError("down needs restart, after which the platform is down")
        if self.every is not None and self.chance is not None:
            raise ValueError("every cannot go with chance")
        return self

    @model_validator(mode="after")
    def _check_phase(self) -> Self:
        """Raise ValueError for keys that are not possible in this phase, before the request is processed or after."""
        done = set(self.actions)
        for name in ("if_status", "if_answer"):
            if getattr(self, name) is not None and self.phase == "before":
                raise ValueError(f"{name} needs an answer, so it cannot go with an action before processing")
        if self.when == "before" and done & {*FIELDS}:
            if wrong := sorted(done - {*FIELDS}):
                raise ValueError(f"{', '.join(wrong)} cannot go with an action that changes the request")
            if self.identity is not None:
                raise ValueError(
                    "identity: the device of a request is unknown until the request has been changed"
                )
        if self.when == "before" and "headers" in done and not done & {"status", "body"}:
            raise ValueError("headers before processing need a status or a body to go with")
        return self

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the fault's actions, in the order of the model's fields."""
        fields = type(self).model_fields
        return tuple(each for each in ACTIONS if getattr(self, each) is not fields[each].default)

    @property
    def place(self) -> Place:
        """The place that the fault hits."""
        return parse_place(self.where)

    @property
    def phase(self) -> Literal["before", "after"]:
        """Whether the fault hits before a request is processed, or after."""
        if self.cut is not None:
            return "before" if self.cut == "before" else "after"
        if self.when is not None:
            return self.when
        if self.lost or self.forget:
            return "before"
        if any(getattr(self, name) is not None for name in ("if_status", "if_answer", *FIELDS)):
            return "after"
        return "before" if self.status is not None or self.delay is not None or self.restart else "after"


ROLES = {
    name: each
    for name, field in FaultSettings.model_fields.items()
    for each in field.metadata
    if isinstance(each, Role)
}
ACTIONS = tuple(name for name, role in ROLES.items() if role.kind == "action")
