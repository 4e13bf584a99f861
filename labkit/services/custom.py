"""Services made of Python functions, as stubs of services that this platform does not have.

`custom_service("Twilio", postMessage=post)` has one operation. Its arguments are the function's parameters,
validated where they are annotated; with `**others` it accepts any further names. A parameter annotated `Caller`
receives the caller.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from pydantic_core import to_jsonable_python

from labkit.context import Context
from labkit.core.errors import LabError
from labkit.services.operation import Caller, Operation, Service

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
THREADS = 8  # of a service, for its sync functions; further calls wait for a free thread
PLAIN = (str, int, float, bool, bytes, type(None))
DEEPEST = 100  # nested tables, the most that a script can receive


class FunctionService(Service):
    """A service whose operations are functions. They return plain data, or raise ServiceError(status, message).

    Sync functions run in a worker thread, async functions on the event loop. An exception other than ServiceError
    becomes an error object with status 500. Raises LabError for a name that scripts cannot use, and for a function
    whose parameters cannot be passed by name.
    """

    def __init__(self, name: str, functions: Mapping[str, Callable[..., object]]) -> None:
        if not NAME.fullmatch(name):
            raise LabError(f"{name[:80]!r} cannot name a service: expected up to 64 letters, digits and '_'")
        if not functions:
            raise LabError(
                f"{name}: expected a function for each operation, as in {name}(postMessage=function)"
            )
        self.name = name  # type: ignore[misc]  # a ClassVar of other services
        self.operations = {  # type: ignore[misc]
            each.rstrip("_"): _declared(self, each, function) for each, function in functions.items()
        }
        self._threads: ThreadPoolExecutor | None = None

    async def stop(self) -> None:
        """Release the threads. A function that still runs in one finishes in the background."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    async def suspend(self) -> None:
        await self.stop()

    async def crash(self) -> None:
        await self.stop()

    async def run(self, function: Callable[[], object]) -> object:
        """Run a sync function in a thread and return its result."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=f"labkit-{self.name}")
        return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, function)


def made_of(kind: type[Service], context: Context) -> Service:
    """Return an object of a user's class of Service, which may take the lab's context."""
    made: Callable[..., Service] = kind
    return made(context) if inspect.signature(made).parameters else made()


def _declared(service: FunctionService, name: str, function: Callable[..., object]) -> Operation:
    where = f"{service.name}.{name}"
    if not callable(function):
        raise LabError(f"{where}: expected a function, not {type(function).__name__}")
    parameters = _parameters(where, function)
    callers = [each.name for each in parameters if each.annotation is Caller]
    is_async = any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))

    async def run(own: FunctionService, caller: Caller, /, **arguments: Any) -> object:
        call = partial(function, **(arguments | dict.fromkeys(callers, caller)))
        result = call() if is_async else await own.run(call)
        return _plain(await result if inspect.isawaitable(result) else result, DEEPEST)

    given = [each for each in parameters if each.annotation is not Caller]
    run.__name__, run.__doc__ = name, inspect.getdoc(function) if inspect.isroutine(function) else None
    run.__annotations__ = {each.name: each.annotation for each in given}
    own = [inspect.Parameter(each, inspect.Parameter.POSITIONAL_ONLY) for each in ("_service", "_caller")]
    try:
        run.__signature__ = inspect.Signature([*own, *given])  # type: ignore[attr-defined]
        declared = Operation(service.name, run)
        _ = declared.model  # so that a type that cannot be validated is refused now
    except Exception as error:  # noqa: BLE001  pydantic has many for a type that it cannot validate
        raise LabError(f"{where}: cannot be an operation: {_first_line(error)}") from None
    return declared


def _parameters(where: str, function: Callable[..., object]) -> list[inspect.Parameter]:
    """Return the parameters that can be given by name, with their types."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except Exception as error:  # noqa: BLE001  of a built-in; of an annotation, whatever it raises
        raise LabError(f"{where}: cannot tell the parameters of {function!r}: {error}") from None
    found = []
    for each in signature.parameters.values():
        if each.kind is each.POSITIONAL_ONLY or each.name.startswith("_"):
            raise LabError(f"{where}: expected parameters that can be given by name, not {each.name!r}")
        if each.kind is not each.VAR_POSITIONAL:
            annotation = Any if each.annotation is each.empty else each.annotation
            kind = each.kind if each.kind is each.VAR_KEYWORD else each.KEYWORD_ONLY
            found.append(each.replace(annotation=annotation, kind=kind))
    return found


def _plain(value: object, depth: int) -> object:
    """Return a result as scripts receive it: records and dates as in JSON. Raises ValueError for unsupported values."""
    if isinstance(value, PLAIN):
        return value
    if not depth:
        raise ValueError(f"the result is nested deeper than {DEEPEST}")
    if isinstance(value, Mapping):
        return {str(name): _plain(each, depth - 1) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, depth - 1) for each in value]
    return to_jsonable_python(value)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
