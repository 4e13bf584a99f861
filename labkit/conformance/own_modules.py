"""Import of the checks of a folder of one's own; an error in a file there is one line with the file and the line."""

from __future__ import annotations

import sys
import traceback
import zlib
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from labkit.conformance.check import Check
from labkit.conformance.entries import CatalogueError

PACKAGE = "labkit_own_checks"  # begins the names of the modules of all folders


class OwnChecksError(CatalogueError):
    """A folder of one's own that cannot be used. file: with the line, where there is one."""


def import_checks(folder: Path) -> Iterator[tuple[str, Check]]:
    """Import the files of checks of a folder anew, and yield each check with its file and line.

    Raises OwnChecksError if there is no such file, if an import fails, or if there is no check.
    """
    files = sorted(each for each in folder.glob("checks*.py") if each.stem.partition("_")[0] == "checks")
    if not files:
        raise OwnChecksError("checks", shown(folder / "checks.py"), "there is no such file")
    package = _package(folder)
    seen: set[int] = set()  # a check may be imported from one file into another
    for file in files:
        module = _imported(f"{package}.{file.stem}", folder, file)
        for name, each in vars(module).items():
            if isinstance(each, Check) and id(each) not in seen:
                seen.add(id(each))
                yield _place(each, name, module, file), each
    if not seen:
        raise OwnChecksError(shown(files[0]), "checks", "there is none; each is a function with @check")


def shown(path: Path) -> str:
    """Return a path as text: relative to the current folder, if it is inside of it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _package(folder: Path) -> str:
    """Make the folder a new package, so that its files can import each other, and return its name.

    The last part of the name is that of the folder, after which its checks are named.
    """
    part = "".join(each if each.isalnum() else "_" for each in folder.name)
    name = f"{PACKAGE}.folder_{zlib.crc32(str(folder).encode()):08x}.{part}"
    for known in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        del sys.modules[known]
    invalidate_caches()
    init = folder / "__init__.py"
    if init.is_file():
        spec = spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
    else:
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
    assert spec is not None
    package = sys.modules[name] = module_from_spec(spec)
    if spec.loader is not None:
        try:
            spec.loader.exec_module(package)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises is the file's error
            raise _failed(error, folder, init) from None
    return name


def _imported(name: str, folder: Path, file: Path) -> ModuleType:
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises is the file's error
        raise _failed(error, folder, file) from None


def _failed(error: BaseException, folder: Path, file: Path) -> OwnChecksError:
    """Return the error of an import with its place: the last line that ran in the folder, by default in the file."""
    place = shown(file)
    for frame in traceback.extract_tb(error.__traceback__):
        if Path(frame.filename).is_relative_to(folder):
            place = f"{shown(Path(frame.filename))}:{frame.lineno}"
    text = " ".join(str(error).split())
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(folder):
        place, text = f"{shown(Path(error.filename))}:{error.lineno}", error.msg
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        beside = error.name.partition(".")[0]
        if (folder / f"{beside}.py").is_file() or (folder / beside).is_dir():
            text += f"; it is beside the checks: from . import {beside}"
    return OwnChecksError(place, type(error).__name__, text)


def _place(check: Check, name: str, module: ModuleType, file: Path) -> str:
    """Return the file and the line of a check; of a model check, the line where it gets its name."""
    code = check.function.__code__
    if Path(code.co_filename) == Path(str(module.__file__)):
        return f"{shown(file)}:{code.co_firstlineno}"
    lines = file.read_text(encoding="utf-8").splitlines()
    number = next((at for at, line in enumerate(lines, 1) if line.startswith(f"{name} =")), 1)
    return f"{shown(file)}:{number}"
