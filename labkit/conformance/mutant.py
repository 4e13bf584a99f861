"""Mutants: deliberate faults of the platform, which prove that the checks notice faults.

A mutant is a named fault. For each of its requirements at least one check must fail, while its smoke check passes.
Most are rows (rows.py): one of the faults that every lab can have. A fault that no row can express is a patch, which
temporarily replaces one public function of the platform. The platform has no hook for this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from labkit.conformance import areas
from labkit.conformance.breaking import wrap

SMOKE = "timestamp/is-plain-text"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault, and the requirements whose checks notice it. title: what is wrong; smoke: the check that passes
    nevertheless.
    """

    name: str
    requirements: tuple[str, ...]
    title: str
    smoke: str

    def breaks(self) -> dict[str, Any]:
        """Return the fault as plain data, for JSON."""
        return {}


@dataclass(frozen=True, slots=True)
class Patch(Mutant):
    """A fault in code. patches: the function that is replaced; replace: returns the broken function for the original.

    alone: whether it needs a process and lab of its own, since the function was called before or its effect lasts;
    from_start: whether this lab has to start with it.
    """

    patches: str
    replace: Callable[[Any], Any]
    alone: bool
    from_start: bool

    def breaks(self) -> dict[str, Any]:
        """Return the name of the function that is replaced."""
        return {"patches": self.patches}


@dataclass(frozen=True, slots=True)
class Row(Mutant):
    """A fault of the lab, in the form that `lab.faults.add` accepts."""

    fault: Mapping[str, Any]

    def breaks(self) -> dict[str, Any]:
        """Return the fault's fields."""
        return {"fault": {**self.fault}}


def patch(
    requirements: str,
    patches: str,
    title: str = "",
    *,
    smoke: str = SMOKE,
    alone: bool = False,
    from_start: bool = False,
) -> Callable[[Callable[..., Any]], Patch]:
    """Declare a patch that breaks one or more requirements (ids separated by spaces).

    patches: the function, as `labkit.package.module:Class.method`. The decorated function is called in its place,
    with the original first and then the call's arguments; its docstring is the mutant's title. By default the patch
    is applied for a time to a lab that other mutants use too. alone: the mutant runs in a process, and a copy of a
    fresh lab, of its own, because earlier calls would hide it, or because its effect lasts; from_start: this lab also
    starts with the patch, because the function is called only while a lab starts.

    With a title a patch is one expression, `no_length = patch("DEV-X-1", SIZE, "…")(lambda original, …: …)`, and is
    named after its variable (breaking.py has common changes).
    """
    declare = mutant(requirements, patches, title, smoke=smoke, alone=alone, from_start=from_start)
    return lambda change: replace(declare(change), replace=lambda original: wrap(original, change))


def mutant(
    requirements: str,
    patches: str,
    title: str = "",
    *,
    smoke: str = SMOKE,
    alone: bool = False,
    from_start: bool = False,
) -> Callable[[Callable[[Any], Any]], Patch]:
    """Declare a patch with state: the decorated function receives the original and returns the broken function."""

    def declare(change: Callable[[Any], Any]) -> Patch:
        name = "" if title else areas.name_of(change)
        text = title or (change.__doc__ or "").strip()
        return Patch(name, tuple(requirements.split()), text, smoke, patches, change, alone, from_start)

    return declare


def all_patches() -> list[Patch]:
    """Return every fault in code, in the order of the files and of the lines in them."""
    found: list[Patch] = []
    for module in areas.modules("mutants"):
        for name, member in vars(module).items():
            if isinstance(member, Patch):
                found.append(member if member.name else replace(member, name=areas.named(module, name)))
    return found
