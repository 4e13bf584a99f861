"""Declaration of services and their operations.

An operation is a method with the operation's own name (a trailing underscore is stripped: `from_`), typed arguments
and a docstring, marked with `@operation`. Its first argument is the `Caller`. It returns plain data or raises
ServiceError. Arguments whose type is or contains one of pydantic's secrets (SecretStr) are never written to the
journal; arguments annotated with `InJournal` are written in the form that the annotation defines.

Undeclared arguments are ignored, and listed in the journal, unless the method declares `**others`, which then receives
them unvalidated. The first two parameters of such a method are positional only (`self, caller, /`), so that arguments
may have these names too.
"""

from __future__ import annotations

import difflib
import inspect
import keyword
import typing
import warnings
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial, wraps
from itertools import islice
from types import UnionType
from typing import Any, ClassVar, TypeVar, cast

import pydantic

from labkit.context import NamedSolution
from labkit.core.component import Component
from labkit.core.errors import LabError, ServiceError, SettingsError, did_you_mean, sentence
from labkit.core.redaction import HIDDEN
from labkit.labtime.events import EventKind
from labkit.services.redaction import contains_secret, journal_form, redacted
from labkit.services.type_names import with_type_names
from labkit.settings import build, listed

MOST_UNKNOWN = 20  # unknown argument names that are reported
LONGEST_NAME = 64  # characters of a name up to which similar names are searched

WITHOUT_EFFECT = "has no effect in labkit"
WithoutEffect = typing.Annotated[Any, WITHOUT_EFFECT]  # type of a known parameter of a configuration

F = TypeVar("F", bound=Callable[..., Awaitable[object]])
A = TypeVar("A")
Show = Callable[[object], object]  # the journal's form of an argument


@dataclass(frozen=True)
class OneOf:
    """Annotation of an argument that has to be one of these names, without letter case. kind: what they are names of.

    A handler that gives another name has a likely mistake, since the operation never accepts it.
    """

    kind: str
    names: Collection[str]

    def hint(self, value: object) -> str:
        """Return a sentence about a text that is no such name, empty for one."""
        if not isinstance(value, str) or value.lower() in self.names:
            return ""
        return f"there is no {self.kind} {value[:LONGEST_NAME]!r}{did_you_mean(value.lower(), self.names)}"


@dataclass(frozen=True)
class Advice:
    """Annotation of an argument some of whose valid values are likely mistakes, as seconds where a number is of
    milliseconds. hint: returns a sentence about such a value, given it and all arguments; empty for any other value.
    """

    hint: Callable[[object, Mapping[str, object]], str]


class Waits(Enum):
    """Answer for a call that was not made, since it may have to wait."""

    WAITS = "waits"


WAITS = Waits.WAITS


@dataclass(slots=True)  # not frozen, since each call of a script makes one
class Caller:
    """Caller of an operation. solution: its id; cause: sequence number of the journal record that caused the call."""

    solution: str
    cause: int | None = None


class Parameters:
    """Parameters of a call as a text, parsed on demand. Equal texts always have equal parameters."""

    __slots__ = ("_read", "text")

    def __init__(self, text: bytes, read: Callable[[bytes], object]) -> None:
        self.text = text
        self._read = read

    def read(self) -> object:
        """Parse and return the parameters; the caller owns the result."""
        return self._read(self.text)


def operation(method: F) -> F:
    """Mark a service method as an operation that scripts may call."""
    method.__labkit_operation__ = True  # type: ignore[attr-defined]
    return method


def also_named(name: str, method: F) -> F:
    """Return an operation under a second name."""

    @wraps(method)
    async def same(*given: Any, **named: Any) -> object:
        return await method(*given, **named)

    same.__name__ = name
    return cast(F, same)


class MissingArgumentError(ServiceError):
    """ServiceError of a call that leaves out an argument which has to be given."""


class Operation:
    """Operation of a service: its name, arguments, documentation and validator."""

    def __init__(
        self, service: str, function: Callable[..., Awaitable[object]], without_effect: Collection[str] = ()
    ) -> None:
        self.service = service
        self.without_effect = without_effect
        self.name = function.__name__.rstrip("_")
        self.function = function
        self.doc = inspect.getdoc(function) or ""

    # What follows is found at its first use: a lab has 200 operations, and calls a few of them.

    @cached_property
    def _parameters(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.function).parameters.values())[2:]  # after self and caller

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return typing.get_type_hints(self.function, include_extras=True)

    @cached_property
    def collects(self) -> bool:
        """Whether the operation accepts undeclared arguments."""
        return bool(self._parameters) and self._parameters[-1].kind is inspect.Parameter.VAR_KEYWORD

    @cached_property
    def attributes(self) -> dict[str, str]:
        """Names of the declared arguments, each with that of the method's parameter: a keyword has an underscore."""
        declared = self._parameters[:-1] if self.collects else self._parameters
        return {parameter.name.rstrip("_"): parameter.name for parameter in declared}

    @cached_property
    def gives_nothing(self) -> bool:
        """Whether the operation always returns nil."""
        return self._hints.get("return") is type(None)

    @cached_property
    def _renames(self) -> bool:
        return any(name != attribute for name, attribute in self.attributes.items())

    @cached_property
    def types(self) -> dict[str, Any]:
        """Types of the declared arguments, with their annotations."""
        return {name: self._hints[attribute] for name, attribute in self.attributes.items()}

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature for Python: a keyword (`from_`) keeps its underscore."""
        declared = [
            parameter.replace(
                name=parameter.name if keyword.iskeyword(name) else name,
                kind=inspect.Parameter.KEYWORD_ONLY,
                annotation=self.types[name],
            )
            for name, parameter in zip(self.attributes, self._parameters, strict=False)
        ]
        others = [self._parameters[-1].replace(annotation=object)] if self.collects else []
        return inspect.Signature(declared + others)

    @cached_property
    def model(self) -> type[pydantic.BaseModel]:
        """The model that validates the arguments."""
        fields: dict[str, Any] = {
            name: (
                self.types[name],
                ... if parameter.default is inspect.Parameter.empty else parameter.default,
            )
            for name, parameter in zip(self.attributes, self._parameters, strict=False)
        }
        config = pydantic.ConfigDict(extra="allow" if self.collects else "ignore", protected_namespaces=())
        create = partial(pydantic.create_model, f"{self.service}.{self.name}", __config__=config, **fields)
        if not any(hasattr(pydantic.BaseModel, name) for name in fields):
            return create()
        # pydantic warns of arguments named like methods of its models, such as `json` and `copy`. Only for these: the
        # filters belong to all threads, so that a warning of another one would be lost meanwhile.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return create()

    @cached_property
    def _validate(self) -> Callable[[object], pydantic.BaseModel]:
        return self.model.__pydantic_validator__.validate_python  # without the wrapper around it

    def _annotated(self, kind: type[A]) -> dict[str, A]:
        found = ((name, each) for name, hint in self.types.items() for each in _metadata(hint))
        return {name: each for name, each in found if isinstance(each, kind)}

    @cached_property
    def choices(self) -> dict[str, OneOf]:
        """Arguments with a `OneOf`."""
        return self._annotated(OneOf)

    @cached_property
    def advised(self) -> dict[str, Advice]:
        """Arguments with an `Advice`."""
        return self._annotated(Advice)

    @cached_property
    def secrets(self) -> frozenset[str]:
        """Names of arguments that hold secrets."""
        return frozenset(name for name, annotation in self.types.items() if contains_secret(annotation))

    @cached_property
    def _shows(self) -> tuple[dict[str, Show | None], dict[str, Show | None]]:
        """The journal's form of each argument, None for unchanged: without and with the values that InJournal hides."""
        hidden = dict.fromkeys(self.secrets, _hide)
        kept = {name: journal_form(annotation) for name, annotation in self.types.items()}
        return {**kept, **hidden}, {**dict.fromkeys(kept), **hidden}

    @cached_property
    def _shows_collected(self) -> tuple[Show | None, Show | None]:
        """The journal's form of the collected arguments, None for hidden: without and with values."""
        annotation = self._hints.get(self._parameters[-1].name)
        show = journal_form(annotation)
        return show, show or (None if contains_secret(annotation) else redacted)

    @cached_property
    def shown_signature(self) -> inspect.Signature:
        """The signature with the types' names for script authors."""
        return with_type_names(self.signature)

    def arguments(self, parameters: Mapping[str, object]) -> dict[str, Any]:
        """Return validated arguments for the method. Raises ServiceError 400 naming the first invalid parameter."""
        kind: type[ServiceError] = ServiceError
        try:
            valid = self._validate(parameters)
        except pydantic.ValidationError as error:
            wrong, kind = _explain(error)
        else:
            fields: dict[str, Any] = valid.__dict__  # the values of the model's attributes
            if self._renames:
                fields = {attribute: fields[name] for name, attribute in self.attributes.items()}
            return {**(valid.model_extra or {}), **fields} if self.collects else fields
        # Raised outside, so that pydantic's error is not its context: the garbage collector cannot traverse that
        # error, so its contents (our validator's error, its frames and with them the platform) would never be freed.
        raise kind(400, wrong)

    def refusals(self, given: Mapping[str, object], others: Collection[str] | None) -> list[str]:
        """Return the errors of the values that a script shows. others: further arguments; None if there may be any."""
        try:
            self._validate(given)
        except pydantic.ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            return [
                _sentence(each)
                for each in found
                if each["type"] != "missing"
                or len(each["loc"]) > 1
                or (others is not None and each["loc"][0] not in others)
            ]
        return []

    def unknown(self, names: Iterable[object]) -> dict[str, str | None]:
        """Return unknown argument names, each with the most similar parameter of this operation, or None.

        Empty if the operation accepts undeclared arguments.
        """
        if self.collects:
            return {}
        unknown = (str(name) for name in names if name not in self.attributes)
        return {name[:LONGEST_NAME]: self._most_similar(name) for name in islice(unknown, MOST_UNKNOWN)}

    def warnings(self, given: Mapping[Any, object]) -> list[str]:
        """Return `unknown`, by what the service has `without_effect`, and what `Advice` says of values in sentences.

        "filtr is not a parameter of listUsers; did you mean filter?"
        """
        ignored = [
            f"{name} {WITHOUT_EFFECT}"
            if name in self.without_effect
            else f"{name} is not a parameter of {self.name}"
            + (f"; did you mean {similar}?" if similar else "; each value needs a name" * name.isdecimal())
            for name, similar in self.unknown(given).items()
        ]
        hints = {name: each.hint(given[name], given) for name, each in self.advised.items() if name in given}
        return ignored + [f"{name}: {hint}" for name, hint in hints.items() if hint]

    def wrong_names(self, given: Mapping[str, object]) -> list[str]:
        """Return sentences about arguments with a name that the operation never accepts (`OneOf`)."""
        hints = (each.hint(given[name]) for name, each in self.choices.items() if name in given)
        return [each for each in hints if each]

    def _most_similar(self, name: str) -> str | None:
        if len(name) > LONGEST_NAME:
            return None
        known = {each.lower(): each for each in self.attributes}
        found = difflib.get_close_matches(name.lower(), known, n=1)
        return known[found[0]] if found else None

    def shown(self, parameters: Mapping[str, object], *, values: bool = False) -> dict[str, object]:
        """Return `parameters` for the journal: declared ones with secrets hidden.

        Collected ones have hidden values; an `InJournal` of their annotation shows the mapping of them instead.
        values: include values that `InJournal` hides, and collected ones unless their names suggest a secret.
        """
        shows = self._shows[values]
        shown: dict[str, object] = {}
        for name, show in shows.items():
            if name in parameters:
                value = parameters[name]
                shown[name] = value if show is None else show(value)
        if self.collects:
            others = {name: value for name, value in parameters.items() if name not in shown}
            show = self._shows_collected[values]
            shown.update(
                dict.fromkeys(others, HIDDEN) if show is None else cast("Mapping[str, object]", show(others))
            )
        return shown


def _metadata(hint: Any) -> Iterator[object]:
    """Return the annotations of a type, also of one that may be None."""
    yield from getattr(hint, "__metadata__", ())
    if typing.get_origin(hint) in (UnionType, typing.Union):
        for each in typing.get_args(hint):
            yield from _metadata(each)


def _hide(value: object) -> object:
    return HIDDEN


class Service(Component):
    """Base class of the services that scripts and cells call; each operation is a method with `@operation`.

    name: the module name that scripts use; gives_defaults: the configuration supplies defaults for parameters of its
    operations with the same name; without_effect: parameters of its configuration, or of its operations, that the
    platform has, and that change nothing here; configuration_model: model of the configuration's parameters with
    another effect; shares_arguments: all callers have the same operations, and these neither change nor keep their
    arguments, so that equal calls may share the argument objects; is_immediate: its operations end without waiting for
    anything, except where `may_wait` says so, and depend on no context variable; events: the kinds of events that it
    raises, with the names of the handlers' arguments; outside: the store outside of the lab that has its data, empty
    without one. An operation with the name of a component's method has a trailing underscore (`clear_`).
    """

    name: ClassVar[str]
    gives_defaults: ClassVar[bool] = True
    without_effect: ClassVar[tuple[str, ...]] = ()
    configuration_model: ClassVar[type[pydantic.BaseModel] | None] = None
    shares_arguments: ClassVar[bool] = False
    is_immediate: bool = False
    operations: ClassVar[Mapping[str, Operation]] = {}
    events: ClassVar[tuple[EventKind, ...]] = ()
    outside: str = ""

    def __init_subclass__(cls) -> None:
        marked = [value for value in vars(cls).values() if hasattr(value, "__labkit_operation__")]
        for each in marked:
            if not inspect.iscoroutinefunction(each):
                raise LabError(f"{cls.__name__}.{each.__name__}: expected an async method for an operation")
        operations: dict[str, Operation] = {}
        for base in reversed(cls.__bases__):  # a service may combine several groups of operations
            operations.update(base.operations if issubclass(base, Service) else {})
        operations.update(
            (function.__name__.rstrip("_"), Operation(cls.name, function, cls.without_effect))
            for function in marked
        )
        cls.operations = operations

    def services(self, solution: str) -> Mapping[str, Service]:
        """Return additional services of a single solution, by the names that scripts use.

        A service that changes them calls `context.services.changed()`, so that handles are refreshed.
        """
        return {}

    def check(self, solution: NamedSolution, configuration: Mapping[str, Mapping[str, Any]]) -> None:
        """Validate the configuration of a solution before it is added or replaced.

        configuration: parameters by service. Raises SettingsError if it is invalid; must not change anything.
        """
        if self.configuration_model is not None:
            read_parameters(self.configuration_model, self.name, configuration)

    def configured(self, solution: str) -> None:
        """Apply a solution's new configuration, after `check` accepted it."""

    async def set_up(self, solution: str) -> None:
        """Prepare for a solution that was added or replaced, after `configured` and before its scripts run.

        Raises SettingsError, and changes nothing, if its settings are invalid.
        """

    async def forget(self, solution: str) -> None:
        """Delete the data of a solution that is about to be removed from the lab."""

    def script_parameters(self, solution: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the parameters that a solution's scripts set, by service; they override settings, folder and cells."""
        return {}

    async def forget_script_parameters(self, solution: str, service: str = "") -> None:
        """Delete the parameters that scripts set for a service, or for all services of a solution."""

    def may_wait(self, caller: Caller, operation: str) -> bool:
        """Return whether a call of an operation of an immediate service may wait after all. caller: who makes it."""
        return False

    def bind(self, declared: Operation, arguments: Mapping[str, Any]) -> Callable[[Caller], object] | None:
        """Return a function that makes a call at once, as often as it is called, where `is_immediate`; else None.

        declared: the operation. It does what the operation does with these validated arguments for the given caller,
        and raises the same errors. None where only the operation itself can.
        """
        return None

    def offered(self, caller: Caller) -> Mapping[str, Operation]:
        """Return the operations that this caller may use; they may depend on the solution.

        A service that changes them calls `context.services.changed()`, so that handles are refreshed.
        """
        return self.operations

    def refusal(self, error: ServiceError) -> ServiceError:
        """Return the error of a refused call as the service reports it; a service may have a status of its own."""
        return error

    def error_object(self, error: ServiceError) -> dict[str, object]:
        """Return the error object that scripts see; a service may have a form of its own."""
        return error.as_object()


M = TypeVar("M", bound=pydantic.BaseModel)


def read_parameters(model: type[M], service: str, configuration: Mapping[str, Mapping[str, Any]]) -> M:
    """Return the parameters of a service in a configuration, which is by service.

    Raises SettingsError, each of whose sentences begins with `services.<service>: <key>: `.
    """
    given = configuration.get(service, {}).items()
    try:
        return build(model, {str(name): value for name, value in given if value is not None})
    except SettingsError as error:
        wrong = [f"services.{service}: {each}" for each in error.parts]
    raise SettingsError(listed(wrong), wrong)


class KeepsParameters(Service):
    """Service of a single solution that stores its parameters itself.

    script_key: the service name under which the solution registers handlers of its events.
    """

    script_key: str

    def parameters(self, solution: str) -> dict[str, Any]:
        """Return the configured parameters of a solution."""
        raise NotImplementedError

    async def set_parameters(self, caller: Caller, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Set the given parameters and return all. Raises ServiceError if one is restricted or invalid."""
        raise NotImplementedError


def _explain(error: pydantic.ValidationError) -> tuple[str, type[ServiceError]]:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    is_missing = first["type"] == "missing" and len(first["loc"]) == 1
    return _sentence(first), MissingArgumentError if is_missing else ServiceError


def _sentence(first: Mapping[str, Any]) -> str:
    if not first["loc"]:  # an error of a name that is not valid Unicode has no location
        return "The name of a parameter is not valid Unicode."
    name, *inner = (str(part) for part in first["loc"])
    if first["type"] == "missing" and not inner:
        return f"Parameter {name} is required."
    where = ".".join([name, *(part for part in inner if part.isidentifier() or part.isdigit())])
    return sentence(f"Parameter {where} validation failed: {first['msg'].removeprefix('Value error, ')}")
