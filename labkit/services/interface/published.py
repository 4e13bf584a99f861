"""Service of a publisher as a subscriber calls it; its operations are described by schemas."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Awaitable, Callable, Container, Mapping
from typing import Any, TypeAlias

from labkit.services.interface.configuration import OperationDefinition as Published
from labkit.services.interface.keywords import Keywords
from labkit.services.interface.subscription import service_name
from labkit.services.operation import Caller, KeepsParameters, Operation
from labkit.services.redaction import redacted

Call: TypeAlias = Callable[[Caller, str, Mapping[str, object]], Awaitable[object]]
SetParameters: TypeAlias = Callable[[Caller, Mapping[str, Any]], Awaitable[dict[str, Any]]]

BODY = "body"  # the argument with the data of an operation whose schema is not an object
TYPES: dict[str, Any] = {  # Python types by JSON Schema type
    "array": list,
    "boolean": bool,
    "integer": int,
    "null": None,
    "number": float,
    "object": dict,
    "string": str,
}


class SubscribedService(KeepsParameters):
    """Service of a publisher at one of its subscribers.

    script_key: its name, before the first letter is capitalised; call: runs an operation, given caller, name and
    arguments; parameters, set_parameters: read and change the parameters of the subscription.
    """

    def __init__(
        self,
        script_key: str,
        operations: Mapping[str, Operation],
        call: Call,
        parameters: Callable[[], dict[str, Any]],
        set_parameters: SetParameters,
    ) -> None:
        self.script_key = script_key
        self.name = service_name(script_key)  # type: ignore[misc]  # a ClassVar of other services
        self.operations = operations  # type: ignore[misc]
        self.call = call
        self._parameters = parameters
        self._set_parameters = set_parameters

    def parameters(self, solution: str) -> dict[str, Any]:
        """Return the parameters of the subscription, with the publisher's defaults."""
        return self._parameters()

    async def set_parameters(self, caller: Caller, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Update the subscription and notify the publisher. Raises ServiceError."""
        return await self._set_parameters(caller, parameters)


class PublishedOperation(Operation):
    """Operation of a publisher. Its schema validates the arguments; the signature here only describes them."""

    def __init__(self, service: str, published: Published) -> None:
        super().__init__(service, _described(published))

    def arguments(self, parameters: Mapping[str, object]) -> dict[str, Any]:
        """Return all arguments as a single one, since the publisher's schema validates them together."""
        return {"arguments": parameters}

    def shown(self, parameters: Mapping[str, object], *, values: bool = False) -> dict[str, object]:
        """Return `parameters` for the journal; values whose names suggest a secret are hidden."""
        shown = redacted(parameters)
        assert isinstance(shown, dict)
        return shown


def takes_object(published: Published) -> bool:
    """Return whether an operation takes an object, whose entries are the arguments; else the argument is `body`."""
    types = published.parameters.keywords.type
    return types is None or "object" in types


def payload(
    published: Published,
    arguments: Mapping[str, object],
    configured: Mapping[str, object],
    restricted: Container[str] = (),
) -> object:
    """Return the data that an operation's handler receives, before validation.

    arguments: of the call; configured: parameters of the subscription, the defaults of the arguments with their names;
    restricted: names of parameters that arguments cannot override.
    """
    if not takes_object(published):
        return arguments.get(BODY)
    known = published.parameters.keywords.properties
    defaults = {name: value for name, value in configured.items() if name in known}
    return {**defaults, **{name: each for name, each in arguments.items() if name not in restricted}}


def _described(published: Published) -> Callable[..., Awaitable[object]]:
    """Return a function with the arguments of an operation, for listings, help and completion."""

    async def run(own: SubscribedService, caller: Caller, /, arguments: Mapping[str, object]) -> object:
        return await own.call(caller, published.name, arguments)

    schema = published.parameters.keywords
    parameters = []
    if takes_object(published):
        for name, inner in schema.properties.items():
            if not _can_be_argument(name):
                continue  # a keyword argument cannot have this name; a script's table can
            optional = name not in schema.required
            default = inner.default if isinstance(inner, Keywords) else None
            parameters.append(
                inspect.Parameter(
                    f"{name}_" if keyword.iskeyword(name) else name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default if optional else inspect.Parameter.empty,
                    annotation=_type(inner),
                )
            )
        parameters.append(inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD))
    else:
        annotation = _type(schema)
        parameters.append(inspect.Parameter(BODY, inspect.Parameter.KEYWORD_ONLY, annotation=annotation))
    own = [inspect.Parameter(each, inspect.Parameter.POSITIONAL_ONLY) for each in ("_service", "_caller")]
    run.__name__, run.__doc__ = published.name, _doc(published)
    run.__annotations__ = {each.name: each.annotation for each in parameters if each.name != "others"}
    run.__signature__ = inspect.Signature([*own, *parameters])  # type: ignore[attr-defined]
    return run


def _can_be_argument(name: str) -> bool:
    reserved = name.startswith(("_", "model_")) or name.endswith("_") or name == "others"
    return name.isidentifier() and not reserved


def _type(schema: object) -> Any:
    """Return the Python type of the values of a schema, for annotations."""
    types = (schema.type if isinstance(schema, Keywords) else None) or ()
    found: Any = Any
    for index, each in enumerate(types):
        found = TYPES[each] if not index else found | TYPES[each]
    return found


def _doc(published: Published) -> str:
    """Return the publisher's description of an operation and of its arguments."""
    lines = [published.description] if published.description else []
    for name, inner in published.parameters.keywords.properties.items():
        if isinstance(inner, Keywords) and inner.description:
            lines.append(f"{name}: {inner.description}")
    return "\n".join(lines)
