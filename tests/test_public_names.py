"""Names: the list of public ones, the documentation and the modules agree, and each class has a name of its own."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import typing
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import labkit
from labkit.fleet import behaviours, shapes

DOCUMENTED = re.compile(r"\b\w+\b")
PACKAGE = Path(labkit.__file__).parent
APART = ("conformance", "bench")  # folders whose classes may have names that others have, too
COMBINED = ("Sum", "Scaled", "Portion", "Delayed", "Dial", "Chance")  # shapes that operators and runs create


def test_the_list_is_sorted_and_each_name_exists() -> None:
    assert labkit.__all__ == sorted(labkit.__all__)
    assert dir(labkit) == sorted([*labkit.__all__, "__version__"])
    for name in labkit.__all__:
        assert getattr(labkit, name).__name__ == name
    with pytest.raises(AttributeError, match="labkit has no 'Labb'"):
        _ = labkit.Labb


def public_names() -> set[str]:
    """Return the names of `labkit.__all__`, and those of their public members that labkit defines."""
    found = set(labkit.__all__)
    for each in (getattr(labkit, name) for name in labkit.__all__):
        for base in inspect.getmro(each) if isinstance(each, type) else ():
            if base.__module__.startswith("labkit"):
                found |= {f"{each.__name__}.{member}" for member in vars(base) if member[0] != "_"}
    return found


def test_no_public_name_goes_unnoticed() -> None:
    """A name that a release had stays through all versions with the same first number."""
    stored = (PACKAGE.parent / "tests" / "public-names.txt").read_text().split()
    assert len(stored) > 300
    assert sorted({*stored} - public_names()) == []


def test_the_documentation_has_all_names() -> None:
    assert labkit.__doc__ is not None
    said = set(DOCUMENTED.findall(labkit.__doc__))
    assert [name for name in labkit.__all__ if name not in said] == []


@pytest.mark.parametrize("name", labkit.__all__)
def test_each_name_is_documented(name: str) -> None:
    doc = vars(getattr(labkit, name)).get("__doc__") if name != "operation" else labkit.operation.__doc__
    assert doc
    assert re.match(r"[A-Z`]", doc)


def test_the_shipped_behaviours_and_shapes_are_public() -> None:
    shipped = {*behaviours.__all__} - {"BEHAVIOURS"}
    shipped |= {
        name for name, value in vars(shapes).items() if isinstance(value, type) and name not in COMBINED
    }
    assert shipped & _classes_of("labkit.fleet") <= set(labkit.__all__)


def test_errors_are_public() -> None:
    """Also errors that only one part raises: catching one should not require knowing its module."""
    families = {labkit.LabkitError, labkit.LabWarning}
    for name in ("labkit.core.errors", "labkit.fleet.device", "labkit.fleet.channel"):
        for found in vars(importlib.import_module(name)).values():
            if isinstance(found, type) and issubclass(found, tuple(families)) and found.__module__ == name:
                assert found.__name__ in labkit.__all__


def test_what_public_methods_return_is_public() -> None:
    """Followed from a lab through the annotations of its handles' methods, properties and fields."""
    seen: set[type] = set()
    waiting: list[type] = [labkit.Lab]
    while waiting:
        found = waiting.pop()
        if found in seen or not found.__module__.startswith("labkit."):
            continue
        seen.add(found)
        waiting += _returned(found)
    assert len(seen) > 20
    assert sorted(each.__name__ for each in seen if each.__name__ not in labkit.__all__) == []


def test_each_class_has_a_name_of_its_own() -> None:
    counts = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in APART
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert counts["Lab"] == 1
    assert {name for name, count in counts.items() if count > 1} == set()


def _classes_of(package: str) -> set[str]:
    """Return the names of classes that modules of a package define."""
    found = importlib.import_module(package)
    modules = [
        importlib.import_module(each.name) for each in pkgutil.walk_packages(found.__path__, f"{package}.")
    ]
    return {
        name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }


def _returned(found: type) -> Iterator[type]:
    for base in found.__mro__:
        for name, member in vars(base).items():
            if not name.startswith("_"):
                function = getattr(member, "fget", None) or getattr(member, "func", None) or member
                yield from _classes(
                    _hints(inspect.unwrap(function)).get("return") if callable(function) else None
                )
        yield from (each for name, hint in _hints(base).items() if name[0] != "_" for each in _classes(hint))


def _hints(annotated: Any) -> dict[str, Any]:
    """Return the evaluated annotations; without names that are imported for type checkers only."""
    try:
        return typing.get_type_hints(annotated)
    except (NameError, TypeError):
        return {}


def _classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and typing.get_origin(hint) is None:
        yield hint
    for each in typing.get_args(hint):
        yield from _classes(each)
