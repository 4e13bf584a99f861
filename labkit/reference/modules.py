"""Reference of the public modules beside `labkit` itself: stories, and checks of one's own."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from labkit.reference import promises
from labkit.reference.api import signature
from labkit.reference.entry import ReferenceEntry, ReferencePage, code, prose

DECORATORS = ("check", "story")
EXPECT = ("equal", "true", "status", "header", "only_headers", "body", "refusal")
HUNT = "labkit.hunt"
CHECKS = """A check of one's own is an async function with `@check`, in a folder with `requirements.toml`. It gets the
target, and compares with the functions of `labkit.conformance.expect`."""


def pages() -> Iterator[ReferencePage]:
    """Yield a page for `labkit.hunt` without its promises, and one for checks of one's own."""
    hunt = import_module(HUNT)
    yield ReferencePage(
        "reference/python/hunt",
        HUNT,
        (inspect.getdoc(hunt) or "").partition("\n")[0],
        tuple(_entries(HUNT, [name for name in hunt.__all__ if name not in promises.promises()])),
    )
    checks = (
        *_entries("labkit.conformance.check", ("check",)),
        *_entries("labkit.conformance.target", ("Target",)),
        *_entries("labkit.conformance.expect", EXPECT, "expect."),
    )
    yield ReferencePage("reference/python/checks", "Checks of one's own", CHECKS, checks)


def _entries(module: str, names: Sequence[str], prefix: str = "") -> Iterator[ReferenceEntry]:
    """Yield an entry for each name of a module, and for each public member of a class."""
    for name in names:
        value = getattr(import_module(module), name)
        shown, body = f"{prefix}{name}", _body(f"{prefix}{name}", value)
        if name in DECORATORS:
            yield ReferenceEntry("decorator", f"@{name}", body, (name, f"{module}.{name}"))
        else:
            label = f"class {shown}" if inspect.isclass(value) else ""
            yield ReferenceEntry("Python", shown, body, (f"{module}.{name}",), label)
        for member, function in inspect.getmembers(value) if inspect.isclass(value) else ():
            if not member.startswith("_") and inspect.isfunction(function) and inspect.getdoc(function):
                full = f"{shown}.{member}"
                yield ReferenceEntry("Python", full, _body(full, function), (f"{module}.{name}.{member}",))


def _body(name: str, value: Any) -> str:
    return f"{prose(inspect.getdoc(value) or '')}\n\n{code('text', f'{name}{signature(value)}')}"
