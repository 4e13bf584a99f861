"""Reference of the Python API: the public names in their groups, with a directive of autodoc for each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

import labkit
from labkit.core.handle import Handle
from labkit.fleet.faults import FleetFaults
from labkit.lab.clock import LabClock
from labkit.lab.device_faults import LabDeviceFaults
from labkit.lab.faults import LabFaults
from labkit.lab.firmware import LabFirmware
from labkit.lab.handsets import LabHandsets
from labkit.lab.journal import LabJournal
from labkit.lab.mailbox import LabMailbox
from labkit.lab.messaging import LabMessaging
from labkit.lab.product import ProductContent
from labkit.reference.entry import ReferenceEntry

PARTS: Mapping[str, type] = {
    "lab.clock": LabClock,
    "lab.journal": LabJournal,
    "lab.mailbox": LabMailbox,
    "lab.messaging": LabMessaging,
    "lab.handsets": LabHandsets,
    "lab.faults": LabFaults,
    "lab.device_faults": LabDeviceFaults,
    "lab.firmware": LabFirmware,
    "product.content": ProductContent,
    "fleet.faults": FleetFaults,
}
"""Classes of the attributes of handles, which are used through these only."""

# Classes whose members, and those of their own bases, are no part of the reference of a class that inherits from them.
STOPS = ("BaseModel", "Exception", "Warning", "Handle", "tuple", "object")


CALL = "__call__"  # of a part that is called itself, as lab.firmware


def groups() -> dict[str, list[str]]:
    """Return the public names by the headings of labkit's docstring."""
    found: dict[str, list[str]] = {}
    for paragraph in (labkit.__doc__ or "").split("\n\n")[1:]:
        title, _, text = " ".join(paragraph.split()).partition(": ")
        names = [name for name in re.findall(r"\w+", text) if name in labkit.__all__]
        if names:
            found[title] = list(dict.fromkeys(names))
    return found


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each page in the book, as reStructuredText for autodoc."""
    for title, names in groups().items():
        yield f"reference/python/{_file(title)}.rst", _page(title, [f"labkit.{name}" for name in names])
    parts = [f"{each.__module__}.{each.__name__}" for each in PARTS.values()]
    yield (
        "reference/python/parts-of-handles.rst",
        _page("Parts of a lab, a product and a fleet", parts, PARTS_INTRO),
    )


PARTS_INTRO = "Handles have these as attributes: " + ", ".join(f"``{name}``" for name in PARTS) + "."


def _file(title: str) -> str:
    return re.sub(r"[^a-z]+", "-", title.lower()).strip("-")


def _page(title: str, names: list[str], intro: str = "") -> str:
    lines = [title, "=" * len(title), "", intro, ""]
    for name in names:
        lines += [name.rpartition(".")[2], "-" * len(name), "", *_directive(name), ""]
    return "\n".join(lines)


def _directive(name: str) -> list[str]:
    value = resolve(name)
    if not inspect.isclass(value):
        return [f".. autofunction:: {name}"]
    return [
        f".. autoclass:: {name}",
        "   :members:",
        f"   :inherited-members: {', '.join(STOPS)}",
        f"   :special-members: {CALL}" if inspect.isfunction(vars(value).get(CALL)) else "",
        "   :show-inheritance:" if value.__name__.endswith(("Error", "Warning")) else "",
    ]


def resolve(name: str) -> Any:
    """Return the object with a dotted name: `labkit.Lab`, or the full name of a part of a lab."""
    for part in PARTS.values():
        if name == f"{part.__module__}.{part.__name__}":
            return part
    return getattr(labkit, name.removeprefix("labkit."))


def is_made_by_labkit(kind: type) -> bool:
    """Return whether objects of a class are made by labkit alone: all handles except `Lab`."""
    return (issubclass(kind, Handle) and kind is not labkit.Lab) or kind in PARTS.values()


@cache
def public() -> tuple[tuple[str, type | None, Any], ...]:
    """Return the name, the class and the function of each public function, method and property: `Lab.product`.

    `Lab` itself is the method that makes one, for the arguments of a class; `lab.firmware` is the call of that part.
    Properties are functions of their getter.
    """
    return tuple(_public())


def _public() -> Iterator[tuple[str, type | None, Any]]:
    yield "operation", None, labkit.operation
    for shown, kind in _classes():
        constructor = getattr(kind, "__init__", None)
        if not is_made_by_labkit(kind) and inspect.isfunction(constructor):
            yield shown, kind, constructor
        if inspect.isfunction(call := vars(kind).get(CALL)):
            yield shown, kind, call
        for name, member in _members(kind):
            function = getattr(member, "__func__", member)
            function = getattr(function, "fget", None) or getattr(function, "func", None) or function
            if inspect.isfunction(function) and not name.startswith("_"):
                yield f"{shown}.{name}", kind, function


def _classes() -> Iterator[tuple[str, type]]:
    for name in labkit.__all__:
        if inspect.isclass(kind := getattr(labkit, name)):
            yield name, kind
    yield from PARTS.items()


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for base in kind.__mro__:
        if base.__name__ in STOPS or not base.__module__.startswith("labkit"):
            return
        for name, member in vars(base).items():
            if name not in seen:
                seen.add(name)
                yield name, member


@cache
def entries() -> tuple[ReferenceEntry, ...]:
    """Return an entry for each public class and function, for the terminal."""
    return tuple(_entries())


def _entries() -> Iterator[ReferenceEntry]:
    for name, kind in _classes():
        yield ReferenceEntry("Python", name, _class_body(name, kind))
    for name, owner, function in public():
        if owner is None or (name != owner.__name__ and function.__name__ != CALL):
            is_property = isinstance(_static(owner, name), property | cached_property)
            head = name if is_property else f"{name}{signature(function)}"
            yield ReferenceEntry(
                "Python", name, f"    {head}\n\n{inspect.getdoc(function) or _inherited(owner, name)}"
            )


def _class_body(name: str, kind: type) -> str:
    members = [each for each, owner, _ in public() if owner is kind and each != name]
    parts = [inspect.getdoc(kind) or ""]
    constructor = getattr(kind, "__init__", None)
    if not is_made_by_labkit(kind) and inspect.isfunction(constructor):
        parts = [
            f"    {name}{signature(kind)}",
            *parts,
            inspect.cleandoc(constructor.__doc__ or ""),
        ]
    if inspect.isfunction(call := vars(kind).get(CALL)):
        parts = [f"    {name}{signature(call)}", *parts, inspect.getdoc(call) or ""]
    return "\n\n".join([*filter(None, dict.fromkeys(parts)), "\n".join(f"- {each}" for each in members)])


def _static(kind: type | None, name: str) -> object:
    return inspect.getattr_static(kind, name.rpartition(".")[2]) if kind is not None else None


def _inherited(kind: type | None, name: str) -> str:
    """Return the docstring of a method, which may be that of the base class' method."""
    member = name.rpartition(".")[2]
    docs = (inspect.getdoc(getattr(each, member, None)) for each in (kind.__mro__ if kind else ()))
    return next(filter(None, docs), "")


class _Shown(str):
    """Annotation that a signature shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def signature(function: Any) -> str:
    """Return the signature of a function or class as text, without `self` and without quotes around annotations."""
    shown = inspect.signature(function)
    kept = [
        each.replace(annotation=_Shown(each.annotation)) if isinstance(each.annotation, str) else each
        for each in shown.parameters.values()
        if each.name not in ("self", "cls")
    ]
    returned = shown.return_annotation
    returned = _Shown(returned) if isinstance(returned, str) else returned
    return str(shown.replace(parameters=kept, return_annotation=returned))
