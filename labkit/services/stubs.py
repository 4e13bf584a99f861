"""Stubs of vendors' services that the lab's settings name: a Python file, or the results of operations."""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from labkit.context import Context
from labkit.core.errors import LabError, LabkitError, SettingsError
from labkit.services.custom import FunctionService, made_of
from labkit.services.operation import Service
from labkit.services.redaction import InJournal, redacted
from labkit.settings import listed


class FixedResults(FunctionService):
    """A service whose operations take any arguments and always return the same results.

    results: plain data by operation.
    """

    def __init__(self, name: str, results: Mapping[str, object]) -> None:
        super().__init__(name, {operation: _returning(result) for operation, result in results.items()})


def stubs(context: Context, own: Collection[str]) -> list[Service]:
    """Return the stubs that the settings name. Python files are run.

    own: names of the platform's services, which have no stubs. Raises SettingsError with a sentence for each wrong
    stub.
    """
    found, told = [], []
    for name, stub in context.settings.stubs.items():
        try:
            if name in own:
                raise SettingsError("the platform has this service; a fault can change its results")
            found.append(
                _of_file(name, stub, context) if isinstance(stub, Path) else FixedResults(name, stub)
            )
        except LabkitError as error:
            told.append(f"stubs.{name}: {error}")
    if told:
        raise SettingsError(listed(told), told)
    return found


def _returning(result: object) -> Callable[..., object]:
    async def operation(**arguments: Annotated[Any, InJournal(redacted)]) -> object:
        return result

    return operation


def _of_file(service: str, file: Path, context: Context) -> Service:
    """Return the service that a Python file defines: by a class of Service, or by a function for each operation."""
    if file.is_dir():
        raise SettingsError(f"{file}: expected a Python file, not a folder")
    module = f"labkit_stub_{service}"
    try:
        values = runpy.run_path(str(file), run_name=module)
    except LabkitError:
        raise
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror or error}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  a user's own file may raise anything
        raise SettingsError(f"{_place(file, error)}: {type(error).__name__}: {_message(error)}") from None
    own = [each for each in values.values() if getattr(each, "__module__", None) == module]
    classes = [each for each in own if isinstance(each, type) and issubclass(each, Service)]
    if len(classes) > 1:
        raise SettingsError(f"{file}: expected one class of Service, not {len(classes)}")
    if classes:
        made = made_of(classes[0], context)
        if made.name != service:
            raise SettingsError(f"{file}: the class {classes[0].__name__} has the name {made.name!r}")
        return made
    functions = dict(_functions(values, module))
    if not functions:
        raise SettingsError(
            f"{file}: expected a function for each operation, such as def postMessage(To, Body)"
        )
    try:
        return FunctionService(service, functions)
    except LabError as error:
        raise SettingsError(f"{file}: {error}") from None


def _functions(values: Mapping[str, Any], module: str) -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the functions that a file itself defines, without those for its own use (`_log`)."""
    for name, each in values.items():
        if inspect.isfunction(each) and each.__module__ == module and not name.startswith("_"):
            yield name, each


def _place(file: Path, error: BaseException) -> str:
    """Return the file, with the line in it at which an exception came up."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f"{file}:{error.lineno}"
    line, trace = 0, error.__traceback__
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == str(file) else line
        trace = trace.tb_next
    return f"{file}:{line}" if line else str(file)


def _message(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error).partition("\n")[0]
