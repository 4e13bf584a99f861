"""Stories of files and modules: `stories.py::outage`, `package.stories:outage`."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
import zlib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from labkit.core.errors import LabError, UnknownError, unknown
from labkit.core.handle import short_trace
from labkit.hunt.story import Story

SEPARATOR = "::"
LABKIT = Path(__file__).resolve().parents[2]


def load_stories(place: str, folder: Path | None = None) -> list[Story]:
    """Return the stories of a place: `stories.py::outage`, `stories.py` for all of a file, or `module:outage`.

    A story of a class is `stories.py::TestShop::outage`. folder: in which a relative file is, by default the current
    one. A file is run anew each time, and is no module that others could import; it can import the files beside it.
    Raises LabError if there is no story, or if the file or the module raises an error.
    """
    file, separator, name = place.partition(SEPARATOR)
    if separator or file.endswith(".py"):
        module = _run_file((folder or Path()) / file, file)
    else:
        file, _, name = place.rpartition(":")
        if file.endswith(".py"):
            raise LabError(f"{place}: expected two colons after a file: {file}{SEPARATOR}{name}")
        file, _, name = place.partition(":")
        module = _import(file)
    *classes, name = name.split(SEPARATOR)
    space: object = module
    for each in classes:
        space = getattr(space, each, None)
        if not isinstance(space, type):
            raise LabError(f"{place}: {file} has no class {each!r}")
    found = {key: each for key, each in vars(space).items() if isinstance(each, Story)}
    if not name:
        own = [each for each in dict.fromkeys(found.values()) if each.__module__ == module.__name__]
        if not own:
            raise LabError(f"{file}: there is no story, which is a function with @story")
        return own
    if name not in found:
        if name in vars(space):
            raise LabError(
                f"{place}: expected a story, a function with @story, not {vars(space)[name]!r:.100}"
            )
        raise UnknownError(f"{file}: {unknown('story', name, found)}")
    return [found[name]]


@short_trace
def load_story(place: str, beside: str | Path | None = None) -> Story:
    """Return one story: `stories.py::outage` or `module:outage`.

    beside: a file, in whose folder a relative file is; by default it is in the current one. Raises LabError as
    `load_stories`, and if the place has several stories.
    """
    stories = load_stories(place, None if beside is None else Path(beside).parent)
    if len(stories) > 1:
        names = ", ".join(each.name for each in stories)
        raise LabError(
            f"{place}: expected one story, such as {place}{SEPARATOR}{stories[0].name}; there are: {names}"
        )
    return stories[0]


def file_of(story: Story) -> Path | None:
    """Return the file in which a story stands, None for one of a notebook."""
    file = inspect.unwrap(story.function).__code__.co_filename if inspect.isfunction(story.function) else ""
    path = Path(file)
    is_module = bool(file) and "ipykernel" not in file and path.is_file()
    return path.resolve() if is_module else None


def name_in_file(story: Story) -> str | None:
    """Return the name of a story in its file, `outage` or `TestShop::outage`; None for one within a function."""
    name: str = getattr(inspect.unwrap(story.function), "__qualname__", story.name)
    return None if "<locals>" in name else name.replace(".", SEPARATOR)


def module_place(story: Story) -> str | None:
    """Return the place of a story of an installed module, `labkit.hunt.firmware_story:program`; None for another."""
    source, name = file_of(story), name_in_file(story)
    is_installed = source is not None and ("site-packages" in source.parts or source.is_relative_to(LABKIT))
    return f"{story.__module__}:{name}" if is_installed and name is not None else None


def is_of_module(place: str) -> bool:
    """Return whether a place names a story of a module, rather than of a file."""
    return SEPARATOR not in place and ":" in place


def split_place(place: str) -> tuple[str, str]:
    """Return the file of a place, empty without one, and the name of its story."""
    file, separator, name = place.partition(SEPARATOR)
    return (file, name) if separator else ("", file)


class _SourceLoader(SourceFileLoader):
    """Loader that reads the source each time: two edits within a second look the same to a cache of byte code."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _run_file(file: Path, shown: str) -> ModuleType:
    if not file.is_file():
        raise LabError(f"{shown}: there is no such file")
    path = file.resolve()
    name = f"labkit_stories_{zlib.crc32(str(path).encode()):08x}_{path.stem}"
    spec = spec_from_file_location(name, path, loader=_SourceLoader(name, str(path)))
    if spec is None or spec.loader is None:
        raise LabError(f"{shown}: expected a file of Python")
    module = module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # last, so that a file there hides no module
    sys.modules[name] = module  # dataclasses look their module up while they are made
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever it raises is the file's error
        raise _failed(error, path, shown) from None
    finally:
        del sys.modules[name]
    return module


def _import(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise LabError(
            f"{name!r:.100}: expected stories, such as stories.py::outage or package.stories:outage"
        )
    if "" not in sys.path:
        sys.path.insert(0, "")  # finds modules in the current folder
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever it raises is the module's error
        raise LabError(f"{name}: {type(error).__name__}: {_line(error)}") from None


def _failed(error: BaseException, path: Path, shown: str) -> LabError:
    """Return the error of a file with its last line that ran."""
    number: int | None = None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == str(path):
            number = frame.lineno
    text = _line(error)
    if isinstance(error, SyntaxError) and error.filename == str(path):
        number, text = error.lineno, error.msg
    return LabError(f"{shown}{'' if number is None else f':{number}'}: {type(error).__name__}: {text}")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
