"""The one way to a service operation, for scripts, Python handlers and notebook cells alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from labkit.core.errors import ServiceError
from labkit.core.journal import Journal
from labkit.services.operation import Caller, Operation, Service

Configuration = Mapping[str, Mapping[str, object]]


class Services:
    """All services of a lab.

    configuration: for each solution id, the configured parameters of its services; they are the defaults of
    same-named operation parameters.
    """

    def __init__(
        self, services: Iterable[Service], journal: Journal, configuration: Mapping[str, Configuration]
    ) -> None:
        self._services = {service.name: service for service in services}
        self._journal = journal
        self._configuration = configuration

    def __iter__(self) -> Iterator[Service]:
        return iter(self._services.values())

    def operations(self, caller: Caller) -> dict[str, Mapping[str, Operation]]:
        """Service name → operation name → operation, as this caller may use them."""
        return {name: service.offered(caller) for name, service in self._services.items()}

    async def call(self, caller: Caller, service: str, operation: str, parameters: object = None) -> object:
        """Call `service.operation(parameters)` for a solution.

        Returns the result, or the error object `{type, error, status}`; never raises for a platform error.
        """
        shown: object = None
        room = self._services.get(service)
        try:
            declared = _find(room, caller, service, operation)
            given = self._with_defaults(caller, declared, parameters)
            shown = declared.shown(given)
            result = await declared.function(room, caller, **declared.arguments(given))
            status = 200
        except ServiceError as error:
            result = error.as_object() if room is None else room.error_object(error)
            status = error.status
        self._journal.record(
            "call",
            caller.solution,
            f"{service}.{operation}",
            cause=caller.cause,
            status=status,
            detail={"parameters": shown} if status == 200 else {"parameters": shown, "error": result},
        )
        return result

    def _with_defaults(self, caller: Caller, declared: Operation, parameters: object) -> dict[str, object]:
        if parameters is None or parameters == []:  # an empty table of a script may look like a list
            parameters = {}
        if not isinstance(parameters, Mapping):
            raise ServiceError(400, "arguments must be a table")
        configured = self._configuration.get(caller.solution, {}).get(declared.service, {})
        defaults = {name: value for name, value in configured.items() if name in declared.attributes}
        return {**defaults, **parameters}


def _find(room: Service | None, caller: Caller, service: str, operation: str) -> Operation:
    if room is None:
        raise ServiceError(404, f"Service {service} Not Found")
    declared = room.offered(caller).get(operation)
    if declared is None:
        raise ServiceError(404, f"Operation {operation} of service {service} Not Found")
    return declared
