"""Runner of Python code that hides all libraries except the ones that a plain `pip install labkit` brings: a preload of
a fork server (labkit/conformance/fork_server.py).
"""

from __future__ import annotations

import sys
import tomllib
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from types import ModuleType

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def base_install() -> set[str]:
    """Return the distributions that `pyproject.toml` requires without an extra, with all their dependencies."""
    found: set[str] = set()
    todo = [Requirement(text) for text in tomllib.loads(PROJECT.read_text())["project"]["dependencies"]]
    while todo:
        requirement = todo.pop()
        marker, name = requirement.marker, canonicalize_name(requirement.name)
        if name not in found and (marker is None or marker.evaluate({"extra": ""})):
            found.add(name)
            todo += map(Requirement, requires(name) or [])
    return found


class Finder(PathFinder):
    """Import finder that finds no module of the hidden distributions."""

    hidden: frozenset[str] = frozenset()

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in cls.hidden:
            return None
        return super().find_spec(fullname, path, target)


def hide() -> None:
    """Hide all distributions except these, labkit and this folder."""
    base = base_install() | {"labkit"}
    Finder.hidden = frozenset(
        module
        for module, owners in packages_distributions().items()
        if not base & {canonicalize_name(owner) for owner in owners}
    )
    sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
    for name in list(sys.modules):
        if name.partition(".")[0] in Finder.hidden:
            del sys.modules[name]


def prepare() -> None:
    """Hide libraries, make warnings errors, and import what most of the code needs."""
    hide()
    warnings.simplefilter("error")
    for name in ("labkit.cli", "labkit.lab.lab", "labkit.platform"):
        import_module(name)


def execute(code: str, _: object) -> None:
    exec(code, {"__name__": "__main__"})
