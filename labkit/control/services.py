"""Service operations: which there are, and calling them for a solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.control.data import Data, copied, plain
from labkit.platform import Platform
from labkit.services.operation import Caller, Operation
from labkit.services.type_names import type_name


class ParameterInfo(Data):
    """An argument of an operation. type: in words of whoever calls; default: where it is not required."""

    name: str
    type: str
    required: bool
    default: Any
    secret: bool


class OperationInfo(Data):
    """An operation of a service. takes_others: arguments of any other name too."""

    service: str
    name: str
    parameters: tuple[ParameterInfo, ...]
    takes_others: bool
    doc: str


class CallResult(Data):
    """value: the result, or the error object {type, error, status}; notes: what the caller may have meant."""

    value: Any
    notes: tuple[str, ...] = ()


class ServicesControl:
    """The services of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._described: dict[Operation, OperationInfo] = {}

    @property
    def revision(self) -> int:
        """Count of the changes of what solutions may call."""
        return self._platform.context.services.revision

    async def catalogue(self, solution: str) -> dict[str, dict[str, OperationInfo]]:
        """Return the operations that a solution may call, by service and name. Raises LabError for no solution."""
        self._platform.solutions.get(solution)
        return {
            service: {name: self._describe(each) for name, each in operations.items()}
            for service, operations in self._platform.services.operations(Caller(solution)).items()
        }

    async def call(
        self, solution: str, service: str, operation: str, parameters: Mapping[str, Any] | None = None
    ) -> CallResult:
        """Call an operation for a solution, as its scripts do. Never raises for a platform error."""
        self._platform.solutions.get(solution)
        declared = self._platform.services.find(Caller(solution), service, operation)
        notes: tuple[str, ...] = ()
        if declared is not None and isinstance(parameters, Mapping):
            notes = tuple(declared.warnings(parameters))
        value = await self._platform.call(solution, service, operation, copied(parameters))
        return CallResult.model_construct(value=copied(value), notes=notes)

    def _describe(self, operation: Operation) -> OperationInfo:
        if operation not in self._described:
            self._described[operation] = described(operation)
        return self._described[operation]


def described(operation: Operation) -> OperationInfo:
    """An operation as data."""
    declared = zip(  # what collects all others comes last, and has no field
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
        takes_others=operation.collects,
        doc=operation.doc,
    )
