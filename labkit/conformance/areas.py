"""Layout of the conformance files: a folder per area, and in it a folder per part of the area's document.

    device/                 an area: behaviour that a device sees
      statements.toml       the statements of the document, if the area has a document of its own
      long_poll/            a part
        requirements.toml   the requirements that are tested
        checks.py           the checks of them; several files if one would be too long: checks_tokens.py
        faults.toml         fault rows that prove the checks, one fault of the lab per row
        mutants.py          faults in code that prove the checks; several files if one would be too long

Every folder of this form is found; a new area or part is registered nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from types import ModuleType

HOME = "labkit.conformance"


def statement_files(root: Traversable | None = None) -> Iterator[tuple[str, Traversable]]:
    """Yield the `statements.toml` files with their names relative to the root (this package, unless another is
    given).
    """
    for area in _folders(resources.files(HOME) if root is None else root):
        if (file := area / "statements.toml").is_file():
            yield f"{area.name}/{file.name}", file


def requirement_files(root: Traversable | None = None) -> Iterator[tuple[str, Traversable]]:
    """Yield the `requirements.toml` file of each part with its name relative to the root."""
    for area, part in _parts(resources.files(HOME) if root is None else root):
        yield f"{area.name}/{part.name}/requirements.toml", part / "requirements.toml"


def fault_files(root: Traversable | None = None) -> Iterator[tuple[str, Traversable]]:
    """Yield the `faults.toml` file of each part that has one, with its name relative to the root."""
    for area, part in _parts(resources.files(HOME) if root is None else root):
        if (file := part / "faults.toml").is_file():
            yield f"{area.name}/{part.name}/{file.name}", file


@cache
def modules(kind: str) -> tuple[ModuleType, ...]:
    """Return the modules of all parts with `checks` or `mutants`, in the order of their names."""
    return tuple(_modules(kind))


def _modules(kind: str) -> Iterator[ModuleType]:
    for area, part in _parts(resources.files(HOME)):
        names = sorted(file.name.removesuffix(".py") for file in part.iterdir() if file.name.endswith(".py"))
        for name in names:
            if name.partition("_")[0] == kind:
                yield import_module(f"{HOME}.{area.name}.{part.name}.{name}")


def name_of(function: object) -> str:
    """Return the name of a check or mutant, made of its part and its function: `long-poll/times-out`."""
    return _named(function.__module__, getattr(function, "__name__", ""))


def named(module: ModuleType, name: str) -> str:
    """Return the name of a mutant that is a variable of a module."""
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
