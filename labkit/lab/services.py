"""Service operations as Python methods: `solution.Keystore.get(key="x")`."""

from __future__ import annotations

import inspect
import keyword
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from labkit.control.services import OperationInfo
from labkit.control.solutions import SolutionInfo
from labkit.core.errors import LabError, did_you_mean
from labkit.core.handle import Handle, short_trace
from labkit.lab.client import SiteClient
from labkit.lab.delays import ask
from labkit.lab.refusal import RefusedCall, is_refusal
from labkit.lab.runtime import Runtime
from labkit.lab.show import card, entries_frame, frame_of

if TYPE_CHECKING:
    import pandas

KEYWORD = inspect.Parameter.KEYWORD_ONLY


class Catalogue:
    """The services of a solution with their operations, updated when they have changed.

    strict: whether a refused operation raises LabError.
    """

    def __init__(self, runtime: Runtime, solution: str) -> None:
        self.strict = False
        self.solution = solution
        self._runtime = runtime
        self._revision = -1
        self._services: Mapping[str, Mapping[str, OperationInfo]] = {}

    def services(self) -> Mapping[str, Mapping[str, OperationInfo]]:
        """Return the operations by service and name."""
        control = self._runtime.control.services
        revision = control.revision  # a number, so it is read without crossing to the lab's thread
        if revision is None:  # the lab is in another process
            revision = self._runtime.run(control.count_changes)
        if revision != self._revision:
            self._services = self._runtime.run(control.catalogue, self.solution)
            self._revision = revision
        return self._services


class ServiceHandle(Handle):
    # Handle of a service: its operations are methods with keyword arguments, or one mapping of them. This is a comment,
    # since `__doc__` describes the service.

    def __init__(self, runtime: Runtime, name: str, catalogue: Catalogue) -> None:
        self._runtime = runtime
        self._name = name
        self._catalogue = catalogue

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        @short_trace
        def operation(*given: Any, **named: object) -> Any:
            if len(given) > 1 or not all(each is None or isinstance(each, Mapping) for each in given):
                shown = ", ".join(map(repr, given))
                raise LabError(f"{name}: expected arguments by name, or a mapping of them, not {shown:.200}")
            parameters = given[0] if given else None
            # `from` is a keyword of Python, so that the argument is `from_`
            by_name = {key.rstrip("_"): value for key, value in named.items()}
            return call(self._runtime, self._catalogue, self._name, name, {**(parameters or {}), **by_name})

        operation.__name__, operation.__qualname__ = name, f"{self._name}.{name}"
        declared = self._operations().get(name)
        if declared is not None:
            operation.__doc__ = declared.doc
            operation.__signature__ = signature(declared)  # type: ignore[attr-defined]
        return operation

    def __dir__(self) -> list[str]:
        return list(self._operations())

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """Text of `help(home.Lights)` and `home.Lights?`: the operations, their arguments and descriptions."""
        lines = [f"The service {self._name} of solution {self._catalogue.solution}."]
        for name, declared in self._operations().items():
            lines += [
                "",
                f"{name}{signature(declared)}",
                textwrap.indent(declared.doc or "", "    ").rstrip(),
            ]
        return "\n".join(lines).rstrip()

    def _operations(self) -> Mapping[str, OperationInfo]:
        return self._catalogue.services().get(self._name, {})

    def __repr__(self) -> str:
        return f"<service {self._name}: {', '.join(sorted(self._operations()))}>"


class CustomService(Handle):
    """A service that was added to a lab with `Lab.service`."""

    def __init__(self, runtime: Runtime, name: str, operations: Iterable[OperationInfo]) -> None:
        self._runtime = runtime
        self.name = name
        self._operations = list(operations)

    @property
    def calls(self) -> pandas.DataFrame:
        """DataFrame of the calls of this service, from all solutions."""
        called = self._runtime.run(self._runtime.control.journal.select, "call")
        return entries_frame(each for each in called if each.summary.startswith(f"{self.name}."))

    def remove(self) -> None:
        """Remove the service: later calls get a 404 error object."""
        self._runtime.run(self._runtime.control.functions.remove_service, self.name)

    def __repr__(self) -> str:
        return f"<service {self.name}: {', '.join(each.name for each in self._operations)}>"

    def _repr_html_(self) -> str:
        return card(
            f"service {self.name}", {each.name: f"{signature(each)} {each.doc}" for each in self._operations}
        )


def call(runtime: Runtime, catalogue: Catalogue, service: str, operation: str, parameters: Any) -> Any:
    """Return the result of a service operation, or the error object; warn of likely mistakes in the call.

    Raises LabError for an error object if the catalogue is strict.
    """
    calling = runtime.control.services.call
    result = ask(runtime, catalogue.solution, calling, catalogue.solution, service, operation, parameters)
    known = catalogue.services() if is_refusal(result.value) else {}
    is_missing = is_refusal(result.value) and operation not in known.get(service, ())  # a note says so
    for note in () if is_missing and catalogue.strict else result.notes:
        runtime.warn(note)
    if not is_refusal(result.value):
        return result.value
    similar = did_you_mean(operation, known[service]) if service in known else did_you_mean(service, known)
    refused = RefusedCall(result.value, f"{service}.{operation}", similar)
    if catalogue.strict:
        raise LabError(refused.read())
    if is_missing:
        refused.read()
    return refused


class SolutionCalls(SiteClient):
    """The part of a solution's handle that sends requests and calls operations, and what its scripts printed."""

    def __init__(self, runtime: Runtime, info: SolutionInfo) -> None:
        super().__init__(runtime, info.domain, cookies=False)
        self._control = runtime.control.solutions
        self._fixed = info
        self._catalogue = Catalogue(runtime, info.id)

    @property
    def strict(self) -> bool:
        """Whether a refused service operation raises LabError; otherwise it returns the error object."""
        return self._catalogue.strict

    @strict.setter
    def strict(self, strict: bool) -> None:
        self._catalogue.strict = strict

    @property
    def id(self) -> str:
        """Id of the solution."""
        return self._fixed.id

    @property
    def products(self) -> tuple[str, ...]:
        """Ids of the products whose devices' events the solution gets."""
        return self._runtime.run(self._control.get, self.id).products

    def call(self, service: str, operation: str, parameters: object = None) -> Any:
        """Call a service operation, and return its result or the error object {type, error, status}.

        parameters: arguments by name. Warns of an error object that nobody reads; with `solution.strict` raises
        LabError instead of returning it.
        """
        return call(self._runtime, self._catalogue, service, operation, parameters)

    @property
    def logs(self) -> pandas.DataFrame:
        """DataFrame of the lines that scripts printed, the end of each run, warnings and errors, oldest first.

        level: that of a printed line, `warning`, `error`, or `run`; status: result of a run; text: line or error.
        """
        columns = ("sequence", "time", "run", "level", "status", "text")
        return frame_of(self._runtime.run(self._control.logs, self.id), columns, "sequence", status="Int64")


def signature(operation: OperationInfo) -> inspect.Signature:
    """Return the Python signature of an operation, with type names, and `from_` for the argument `from`."""
    parameters = [
        inspect.Parameter(
            f"{each.name}_" if keyword.iskeyword(each.name) else each.name,
            KEYWORD,
            default=inspect.Parameter.empty if each.required else each.default,
            annotation=_Name(each.type),
        )
        for each in operation.parameters
    ]
    if operation.accepts_extra:
        parameters.append(inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


class _Name(str):
    """Name of a type, shown without quotes in signatures."""

    __slots__ = ()
    __repr__ = str.__str__
