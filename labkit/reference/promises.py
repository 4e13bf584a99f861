"""Reference of promises: each function of `labkit.hunt` that makes one, and the kinds of faults that they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import labkit.hunt as hunt
from labkit.hunt.kinds import GROUPS
from labkit.reference.entry import ReferenceEntry, ReferencePage, bullets, code, prose

PATH = "reference/hunt/promises"
INTRO = """What must hold in every play of a story: `@story(promises=[nothing_lost(), recovers_within(300)])`, from
`labkit.hunt`. `under` takes names of kinds of faults and of groups of them: only those are drawn for the promise, and a
play with others does not judge it."""


def pages() -> Iterator[ReferencePage]:
    """Yield the page of promises."""
    groups = bullets((name, f"{len(kinds)} kinds", ", ".join(kinds)) for name, kinds in GROUPS.items())
    entries = tuple(_entry(name, function) for name, function in promises().items())
    yield ReferencePage(PATH, "Promises", f"{INTRO}\n\n{groups}", entries)


def promises() -> dict[str, Callable[..., hunt.Promise]]:
    """Return the functions that make promises, by name."""
    members = ((name, getattr(hunt, name)) for name in hunt.__all__)
    return {
        name: member
        for name, member in members
        if inspect.isfunction(member) and member.__annotations__.get("return") == "Promise"
    }


def _entry(name: str, function: Callable[..., hunt.Promise]) -> ReferenceEntry:
    arguments = ", ".join(_argument(each) for each in inspect.signature(function).parameters.values())
    head = code("text", f"{name}({arguments})")
    body = f"{prose(inspect.getdoc(function) or '')}\n\n{head}"
    return ReferenceEntry("promise", name, body, (f"promise {name}", f"hunt.{name}", f"labkit.hunt.{name}"))


def _argument(parameter: inspect.Parameter) -> str:
    """Return an argument with its default, without its type."""
    given = parameter.default
    return parameter.name if given is parameter.empty else f"{parameter.name}={given!r}"
