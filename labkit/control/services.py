"""Operations that list and call the service operations of a lab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from labkit.control.bounds import Id, Values
from labkit.control.data import Data, copied, plain
from labkit.control.json_values import JsonValue
from labkit.platform import Platform
from labkit.services.mistakes import missing_hint
from labkit.services.operation import Caller, Operation
from labkit.services.type_names import type_name

# All labs of a process have the same operations of services, and only some of solutions.
_DESCRIBED: WeakKeyDictionary[Operation, OperationInfo] = WeakKeyDictionary()


class ParameterInfo(Data):
    """A parameter of a service operation.

    type: as callers know it (`text`, `number`); default: value of an optional parameter; secret: not logged.
    """

    name: str
    type: str
    required: bool
    default: Annotated[Any, JsonValue]
    secret: bool


class OperationInfo(Data):
    """An operation of a service. accepts_extra: whether it accepts parameters of any other name, too; doc: its help."""

    service: str
    name: str
    parameters: tuple[ParameterInfo, ...]
    accepts_extra: bool
    doc: str


class CallResult(Data):
    """Result of a call. value: the result, or an error object {type, error, status}; notes: hints for the caller."""

    value: Annotated[Any, JsonValue]
    notes: tuple[str, ...] = ()


class ServicesControl:
    """Operations on the services of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    @property
    def revision(self) -> int | None:
        """Number of changes so far of the operations that solutions may call; None: only `count_changes` has it."""
        return self._platform.context.services.revision

    async def count_changes(self) -> int:
        """Return the number of changes so far of the operations that solutions may call."""
        return self._platform.context.services.revision

    async def catalogue(self, solution: Id) -> dict[str, dict[str, OperationInfo]]:
        """Return the operations that a solution may call, by service and name. Raises UnknownError."""
        self._platform.solutions.get(solution)
        return {
            service: {name: described(each) for name, each in operations.items()}
            for service, operations in self._platform.services.operations(Caller(solution)).items()
        }

    async def call(
        self, solution: Id, service: Id, operation: Id, parameters: Values | None = None
    ) -> CallResult:
        """Call an operation for a solution, as its scripts do. Errors of the platform are returned, never raised."""
        whole = self._platform.context.whole
        await whole.enter()
        whole.expect_working()
        self._platform.solutions.get(solution)
        declared = self._platform.services.find(Caller(solution), service, operation)
        notes: tuple[str, ...] = ()
        if declared is None:
            known = self._platform.services.operations(Caller(solution))
            notes = (f"{service}.{operation}: {missing_hint(service, operation, known)}",)
        elif isinstance(parameters, Mapping):
            notes = tuple(declared.warnings(parameters))
        value = await self._platform.call(solution, service, operation, copied(parameters))
        return CallResult.model_construct(value=copied(value), notes=notes)


def described(operation: Operation) -> OperationInfo:
    """Return the description of an operation as plain data."""
    found = _DESCRIBED.get(operation)
    if found is None:
        found = _DESCRIBED[operation] = _described(operation)
    return found


def _described(operation: Operation) -> OperationInfo:
    declared = zip(  # a **parameter comes last, and has no field
        operation.model.model_fields.items(), operation.signature.parameters.values(), strict=False
    )
    return OperationInfo(
        service=operation.service,
        name=operation.name,
        parameters=tuple(
            ParameterInfo(
                name=name,
                type=type_name(parameter.annotation),
                required=field.is_required(),
                default=None if field.is_required() else plain(field.default),
                secret=name in operation.secrets,
            )
            for (name, field), parameter in declared
        ),
        accepts_extra=operation.collects,
        doc=operation.doc,
    )
