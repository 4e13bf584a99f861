"""Where things stand: a folder an area, in it one for each part of its document, with all that belongs together.

    device/                 an area: what a device meets
      statements.toml       what the document says, where an area has a document of its own
      long_poll/            a part
        requirements.toml   what is tested
        checks.py           what tests it; several files where one would be too long: checks_tokens.py
        faults.toml         what proves the checks: faults of the lab, a row each
        mutants.py          likewise, in code; several files as of checks

Whatever has this form is found; a new area or part needs no line elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from types import ModuleType

HOME = "labkit.conformance"


def statement_files(root: Traversable | None = None) -> Iterator[tuple[str, Traversable]]:
    """What documents say: file names from the root (this package, unless another folder is given), and files."""
    for area in _folders(resources.files(HOME) if root is None else root):
        if (file := area / "statements.toml").is_file():
            yield f"{area.name}/{file.name}", file


def requirement_files(root: Traversable | None = None) -> Iterator[tuple[str, Traversable]]:
    """What is tested, a file a part: file names from the root, and files."""
    for area, part in _parts(resources.files(HOME) if root is None else root):
        yield f"{area.name}/{part.name}/requirements.toml", part / "requirements.toml"


def fault_files(root: Traversable | None = None) -> Iterator[tuple[str, Traversable]]:
    """Fault rows, a file a part that has any: file names from the root, and files."""
    for area, part in _parts(resources.files(HOME) if root is None else root):
        if (file := part / "faults.toml").is_file():
            yield f"{area.name}/{part.name}/{file.name}", file


@cache
def modules(kind: str) -> tuple[ModuleType, ...]:
    """The modules of all parts that hold `checks` or `mutants`, in the order of their names."""
    return tuple(_modules(kind))


def _modules(kind: str) -> Iterator[ModuleType]:
    for area, part in _parts(resources.files(HOME)):
        names = sorted(file.name.removesuffix(".py") for file in part.iterdir() if file.name.endswith(".py"))
        for name in names:
            if name.partition("_")[0] == kind:
                yield import_module(f"{HOME}.{area.name}.{part.name}.{name}")


def name_of(function: object) -> str:
    """How a check or mutant is called: `long-poll/times-out`, its part and its function."""
    return _named(function.__module__, getattr(function, "__name__", ""))


def named(module: ModuleType, name: str) -> str:
    """How a mutant is called that a variable of a module holds."""
    return _named(module.__name__, name)


def _named(module: str, name: str) -> str:
    *_, part, file = ("", *module.split("."))
    return f"{part if file.partition('_')[0] in ('checks', 'mutants') else file}/{name}".replace("_", "-")


def _parts(root: Traversable) -> Iterator[tuple[Traversable, Traversable]]:
    for area in _folders(root):
        for part in _folders(area):
            if (part / "requirements.toml").is_file():
                yield area, part


def _folders(folder: Traversable) -> list[Traversable]:
    return sorted((each for each in folder.iterdir() if each.is_dir()), key=lambda each: each.name)
