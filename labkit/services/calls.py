"""The single entry point to service operations, for scripts, Python handlers and notebook cells alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

from labkit.context import Context, NamedSolution
from labkit.core.component import Component, stop_all
from labkit.core.coroutines import result_of
from labkit.core.directory import Directory
from labkit.core.errors import ServiceError, SettingsError, StorageError
from labkit.core.journal import trace_of
from labkit.core.record_lines import FAILED
from labkit.faults.calls import ServiceCall
from labkit.labtime.story_work import LOOKS
from labkit.services.bounds import LONGEST_NAME, shown_name
from labkit.services.lookup import find_service, services_of
from labkit.services.mistakes import KNOWN_BY_NAME, MistakeError, Mistakes, argument_hint, missing_hint
from labkit.services.operation import WAITS, Caller, Operation, Parameters, Service
from labkit.services.redaction import redacted, shown_answer

DAY = 86_400_000_000  # microseconds
SHORT = 200  # bytes: the longest parameters that are kept, for equal calls and for the journal
REMEMBERED = 256  # cached calls


# Detail of a record in the journal, or a function that makes it when it is read.
Detail = Mapping[str, object] | Callable[[], Mapping[str, object]]


class Prepared(NamedTuple):
    """A call whose parameters alone determine what it does: all callers share it.

    service, operation, arguments; detail, name: for the journal; at_once: makes the call for a caller, if it never
    waits (`Service.bind`); refused: why the parameters are invalid, None if they are valid.
    """

    found: Service
    declared: Operation
    arguments: dict[str, Any]
    detail: Detail
    name: str
    at_once: Callable[[Caller], object] | None = None
    refused: ServiceError | None = None


class Services(Component):
    """All services of a lab.

    The configuration of a solution's service (`context.configuration`) supplies defaults for operation parameters
    of the same name. mistakes: likely ones in the calls of handlers, which nobody has read yet.
    """

    def __init__(self, context: Context, services: Iterable[Service]) -> None:
        self._context = context
        self._shows_values = context.settings.journal.values
        self._no_content = context.wire.no_content
        self._counts = context.calls
        self._services = cast("Directory[Service]", context.services)  # this class alone adds to it
        context.faults.operations = self.operation_names
        # by service, operation, text of parameters
        self._prepared: dict[tuple[str, str, bytes], Prepared] = {}
        self._immediate: set[str] = set()  # services whose operations never wait
        self.mistakes = Mistakes()
        for service in services:
            self._register(service)

    def __iter__(self) -> Iterator[Service]:
        return iter(self._services)

    async def add(self, service: Service) -> None:
        """Add a service to a running lab. Raises SettingsError where its name exists, even in one solution only."""
        for solution in self._context.solutions.names():
            if find_service(self._context.services, solution, service.name) is not None:
                raise SettingsError(f"service {service.name!r} is there already in solution {solution!r}")
        self._register(service)
        await service.start()

    async def remove(self, name: str) -> None:
        """Remove a service. Raises UnknownError where there is none of this name."""
        self._prepared.clear()
        self._immediate.discard(name)
        await self._services.remove(name).stop()

    async def start(self) -> None:
        started: list[Component] = []
        try:
            for service in self:
                await service.start()
                started.append(service)
        except BaseException:
            await stop_all(started)
            raise

    async def stop(self) -> None:
        await stop_all([*self])

    async def suspend(self) -> None:
        for service in reversed(tuple(self)):
            await service.suspend()

    async def resume(self) -> None:
        for service in self:
            await service.resume()

    async def crash(self) -> None:
        for service in reversed(tuple(self)):
            await service.crash()

    async def recover(self) -> None:
        for service in self:
            await service.recover()

    async def recovered(self) -> None:
        for service in self:
            await service.recovered()

    async def clear(self) -> None:
        for service in self:
            await service.clear()

    async def refill(self) -> None:
        for service in self:
            await service.refill()

    def check(self, solution: NamedSolution, configuration: Mapping[str, Mapping[str, Any]]) -> None:
        """Have every service check the new configuration of a solution. Raises SettingsError."""
        for service in self:
            service.check(solution, configuration)

    def script_parameters(self, solution: str) -> Mapping[str, Mapping[str, Any]]:
        """Return service → parameters set by scripts, which override settings, folder and cells."""
        found: dict[str, Mapping[str, Any]] = {}
        for service in self:
            found.update(service.script_parameters(solution))
        return found

    async def forget_script_parameters(self, solution: str, service: str = "") -> None:
        """Forget the parameters that scripts set of a service, or of all services of a solution."""
        for each in self:
            await each.forget_script_parameters(solution, service)

    def configured(self, solution: str) -> None:
        """Notify the services that the configuration of a solution was set or replaced."""
        for service in self:
            service.configured(solution)

    async def set_up(self, *solutions: str) -> None:
        """Notify the services that solutions were added or replaced, and are configured. Raises SettingsError."""
        for solution in solutions:
            for service in self:
                await service.set_up(solution)

    async def forget(self, solution: str) -> None:
        """Notify the services that a solution is about to be removed from the lab."""
        for service in self:
            await service.forget(solution)

    def _register(self, service: Service) -> None:
        self._services.add(service.name, service)
        if service.is_immediate:
            self._immediate.add(service.name)
        if service.events:
            self._context.events.declare(service.events)

    def operations(self, caller: Caller) -> dict[str, Mapping[str, Operation]]:
        """Return service name → operation name → operation, of all operations that this caller may use."""
        return {
            name: service.offered(caller)
            for name, service in services_of(self._context.services, caller.solution)
        }

    def find(self, caller: Caller, service: str, operation: str) -> Operation | None:
        """Return an operation that this caller may use, or None."""
        found = find_service(self._context.services, caller.solution, service)
        return None if found is None else found.offered(caller).get(operation)

    def operation_names(self) -> dict[str, set[str]]:
        """Return the names of the operations of each service that any solution may call."""
        solutions = self._context.solutions.names() or [""]
        known: dict[str, set[str]] = {}
        for solution in solutions:
            for name, operations in self.operations(Caller(solution)).items():
                known.setdefault(name, set()).update(operations)
        return known

    async def call(self, caller: Caller, service: str, operation: str, parameters: object = None) -> object:
        """Call `service.operation(parameters)` for a solution.

        Returns the result, or the error object `{type, error, status}`. An exception other than ServiceError gives
        an error object too, and its trace is in the journal.
        """
        slow, name = self._context.slow, (service, operation)
        before = slow.begin(name)
        try:
            if type(parameters) is Parameters:
                prepared = self._find_prepared(caller, service, operation, parameters)
                if prepared is not None:
                    return await self._make(caller, prepared)
                parameters = parameters.read()
            return await self._call(caller, service, operation, parameters)
        finally:
            slow.end(name, before)

    async def _make(self, caller: Caller, prepared: Prepared) -> object:
        """Run a prepared call, as `call` describes it."""
        found, declared, arguments, detail, name, _, refused = prepared
        if refused is not None:
            return self._record_refusal(caller, prepared, refused)
        try:
            result = await declared.function(found, caller, **arguments)
        except Exception as raised:  # noqa: BLE001
            return self._record_refusal(caller, prepared, raised)
        if self._no_content:
            result = with_status(declared, result)
        holds: int | None = SHORT
        if self._shows_values:
            detail, holds = self._with_answer(declared, detail, result), None
        self._context.journal.record(
            "call", caller.solution, name, cause=caller.cause, status=200, detail=detail, holds=holds
        )
        self._counts[caller.solution, declared.service, self._context.journal.time // DAY] += 1
        return result

    def call_at_once(self, caller: Caller, service: str, operation: str, parameters: Parameters) -> object:
        """Make a call that never waits, and return its result as `call` does; WAITS, unmade, if it may have to wait."""
        if service not in self._immediate or self._context.faults.calls is not None:
            return WAITS
        prepared = self._find_prepared(caller, service, operation, parameters)
        if prepared is None or prepared.at_once is None:
            if self._services.get(service).may_wait(caller, operation):
                return WAITS
            return result_of(self.call(caller, service, operation, parameters))
        try:
            result = prepared.at_once(caller)
        except Exception as raised:  # noqa: BLE001
            return self._record_refusal(caller, prepared, raised)
        if self._no_content:
            result = with_status(prepared.declared, result)
        name, detail, cause = prepared.name, prepared.detail, caller.cause
        holds: int | None = SHORT
        if self._shows_values:
            detail, holds = self._with_answer(prepared.declared, detail, result), None
        journal, solution = self._context.journal, caller.solution
        journal.record("call", solution, name, cause=cause, status=200, detail=detail, holds=holds)
        self._counts[solution, service, journal.time // DAY] += 1
        return result

    def _record_refusal(self, caller: Caller, prepared: Prepared, raised: Exception) -> dict[str, object]:
        """Return the error object of a prepared call that failed, after recording the call."""
        found, declared = prepared.found, prepared.declared
        result, status, detail = _refusal(found, declared.service, declared.name, raised, prepared.detail)
        self._report_mistake(caller, prepared.name, raised, detail)
        self._context.journal.record(
            "call", caller.solution, prepared.name, cause=caller.cause, status=status, detail=detail
        )
        self._counts[caller.solution, declared.service, self._context.journal.time // DAY] += 1
        return result

    def _find_prepared(
        self, caller: Caller, service: str, operation: str, parameters: Parameters
    ) -> Prepared | None:
        """Return a call as prepared for an earlier, equal one, or prepare it.

        None if its parameters alone do not determine what it does, if they are long, or if there is no such operation.
        """
        # Of a service that is configured for the solution, the parameters alone do not determine a call.
        configured, solution = self._context.configuration, caller.solution
        if self._context.faults.calls is not None or (
            solution in configured and configured[solution].get(service)
        ):
            return None
        try:
            return self._prepared[service, operation, parameters.text]
        except KeyError:
            return self._prepare(caller, service, operation, parameters)

    def _prepare(
        self, caller: Caller, service: str, operation: str, parameters: Parameters
    ) -> Prepared | None:
        """Validate a call, and cache it: a handler makes the same few with every event."""
        found = find_service(self._context.services, caller.solution, service)
        if found is None or not found.shares_arguments or len(parameters.text) > SHORT:
            return None
        declared = found.offered(caller).get(operation)
        if declared is None:
            return None
        try:
            given = parameters_of(parameters.read())
        except ServiceError:  # `_call` refuses it
            return None
        if declared.advised or (not given.keys() <= declared.attributes.keys() and not declared.collects):
            return None  # `_call` reports the mistake
        # The text is kept rather than what it says, which takes several times the memory and is seldom read.
        detail: Detail = partial(self._shown_text, declared, parameters)
        name = f"{service}.{operation}"
        try:
            arguments = declared.arguments(given)
        except ServiceError as error:
            refused = Prepared(found, declared, {}, detail, name, refused=error)
            return None if declared.wrong_names(given) else refused
        at_once = found.bind(declared, arguments) if service in self._immediate else None
        if len(self._prepared) >= REMEMBERED:
            self._prepared.clear()
        prepared = Prepared(found, declared, arguments, detail, name, at_once)
        self._prepared[service, operation, parameters.text] = prepared
        return prepared

    async def _call(self, caller: Caller, service: str, operation: str, parameters: object) -> object:
        """Run a call that is not prepared, as `call` describes it."""
        faults = self._context.faults.calls
        if faults is not None and LOOKS.get():
            faults = None
        called = None if faults is None else _called(caller, service, operation, parameters)
        declared: Operation | None = None
        detail: Detail = {}
        found = find_service(self._context.services, caller.solution, service)
        name = f"{service}.{operation}"
        if len(name) > LONGEST_NAME:
            name = f"{shown_name(service)}.{shown_name(operation)}"
        try:
            declared = find_operation(found, caller, service, operation)
            given = self.with_defaults(caller, declared, parameters)
            if faults is not None and called is not None:
                called = faults.change_parameters(replace(called, parameters=given))
                given = dict(called.parameters)
            detail = shown = self._shown(declared, given)
            doubtful = "unknown" in shown or declared.choices or declared.advised
            if doubtful and (hint := argument_hint(declared, given)):
                shown["hint"] = self.report(caller, name, hint)
            arguments = declared.arguments(given)
            if faults is None or called is None:
                result = await declared.function(found, caller, **arguments)
            else:
                result = await faults.run(called, partial(declared.function, found, caller, **arguments))
            status = 200
            if self._no_content:
                result = with_status(declared, result)
        except Exception as raised:  # noqa: BLE001  a user's own service may raise anything
            if declared is None:
                hint = missing_hint(service, operation, self.operations(caller))
                # show what an author would have to add
                detail = {"parameters": redacted(parameters), "hint": self.report(caller, name, hint)}
            result, status, detail = _refusal(found, service, operation, raised, detail)
            self._report_mistake(caller, name, raised, detail)
        if faults is not None and called is not None and found is not None:
            result, status = await faults.change_result(called, result, status, found.error_object)
        self._context.journal.record(
            "call",
            caller.solution,
            name,
            cause=caller.cause,
            status=status,
            detail=self._with_answer(declared, detail, result, status),
        )
        if found is not None:
            self._counts[caller.solution, found.name, self._context.journal.time // DAY] += 1
        return result

    def _shown_text(self, declared: Operation, parameters: Parameters) -> dict[str, object]:
        """Return what `_shown` does, of parameters that are kept as text."""
        return self._shown(declared, parameters_of(parameters.read()))

    def _shown(self, declared: Operation, given: Mapping[str, object]) -> dict[str, object]:
        """Return a call's parameters as the journal shows them, and those that the operation does not know."""
        detail: dict[str, object] = {"parameters": declared.shown(given, values=self._shows_values)}
        if not given.keys() <= declared.attributes.keys() and (unknown := declared.unknown(given)):
            detail["unknown"] = unknown
        return detail

    def _with_answer(
        self, declared: Operation | None, detail: Detail, result: object, status: int = 200
    ) -> Detail:
        """Return the detail of a call; with its result where the journal has values."""
        if declared is None or result is None or status >= FAILED or not self._shows_values:
            return detail
        before = detail() if callable(detail) else detail
        return {**before, "answer": shown_answer(declared.name, result)}

    def report(self, caller: Caller, name: str, hint: str) -> str:
        """Report a mistake (a sentence) in a call of a handler, or in its function; return it for the journal."""
        handler = None if caller.cause is None else self._context.journal.find(caller.cause)
        if handler is not None:
            self.mistakes.add(caller.solution, handler.summary, name, hint)
        return hint

    def _report_mistake(
        self, caller: Caller, name: str, raised: Exception, detail: dict[str, object]
    ) -> None:
        if isinstance(raised, MistakeError):
            detail["hint"] = self.report(caller, name, raised.message)

    def with_defaults(self, caller: Caller, declared: Operation, parameters: object) -> dict[str, object]:
        """Return the parameters of a call, with configured values for omitted ones. Raises ServiceError 400."""
        parameters = parameters_of(parameters)
        configured = self._context.configuration.get(caller.solution, {}).get(declared.service)
        if not configured:
            return dict(parameters)
        found = self._services.find(declared.service)
        if found is None or not found.gives_defaults:
            return dict(parameters)
        defaults = {name: value for name, value in configured.items() if name in declared.attributes}
        return {**defaults, **parameters}


def parameters_of(given: object) -> Mapping[str, object]:
    """Return the parameters that a caller gave. Raises ServiceError 400 if they are no table."""
    if given is None or given == []:  # an empty table of a script may look like a list
        return {}
    if type(given) is not dict and not isinstance(given, Mapping):
        raise ServiceError(400, "arguments must be a table")
    return given


def find_operation(found: Service | None, caller: Caller, service: str, operation: str) -> Operation:
    """Return an operation that a caller may use. Raises ServiceError 404 where there is none of that name."""
    if found is None:
        raise ServiceError(404, f"Service {shown_name(service)} Not Found")
    declared = found.offered(caller).get(operation)
    if declared is None:
        known = " (known by name only)" if operation in KNOWN_BY_NAME.get(found.name, ()) else ""
        raise ServiceError(404, f"Operation {shown_name(operation)} of service {service} Not Found{known}")
    return declared


def with_status(declared: Operation, result: object) -> object:
    """Return a result with `wire.no_content`: a table with the status of the platform's answer in place of nil."""
    return {"status_code": 204} if result is None and declared.gives_nothing else result


def _called(caller: Caller, service: str, operation: str, parameters: object) -> ServiceCall:
    """Return a call as faults see it before its parameters are validated."""
    given = parameters if isinstance(parameters, Mapping) else {}
    return ServiceCall(caller.solution, service, operation, caller.cause, given)


def _refusal(
    found: Service | None, service: str, operation: str, raised: Exception, detail: Detail
) -> tuple[dict[str, object], int, dict[str, object]]:
    """Return the error object of a failed call, its status, and the detail for the journal."""
    error = raised if isinstance(raised, ServiceError) else _failure(service, operation, raised)
    if found is not None:
        error = found.refusal(error)
    error_object = ServiceError.as_object if found is None else found.error_object
    before = detail() if callable(detail) else detail
    shown = {**before, "error": error_object(error.for_journal())}
    if error.__cause__ is not None:
        shown["trace"] = trace_of(error.__cause__)
    return error_object(error), error.status, shown


def _failure(service: str, operation: str, error: Exception) -> ServiceError:
    """Return the ServiceError that scripts see of an operation that raised another exception."""
    if isinstance(error, StorageError):  # reported once, not with each call
        return ServiceError(error.status, str(error))
    failure = ServiceError(500, f"{service}.{operation}: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure
