"""Reference of the Python API: each public name, with a word on each argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import labkit
from labkit import Lab, Thermostat
from labkit.core.handle import Handle
from labkit.reference import api
from labkit.reference.pages import find

PUBLIC = {name: (kind, function) for name, kind, function in api.public()}


def test_each_public_name_is_in_a_group() -> None:
    names = [name for names in api.groups().values() for name in names]
    assert sorted(names) == labkit.__all__


def _docs(name: str, kind: type | None, function: Any) -> Iterator[str]:
    """Yield the docstrings that a reader of a function sees: its own, those that it overrides, and of its class."""
    yield function.__doc__ or ""
    for base in kind.__mro__ if kind is not None else ():
        yield base.__doc__ or ""
        yield getattr(vars(base).get(name.rpartition(".")[2]), "__doc__", None) or ""


@pytest.mark.parametrize("name", PUBLIC)
def test_each_argument_has_a_word_of_its_own(name: str) -> None:
    kind, function = PUBLIC[name]
    text = " ".join(_docs(name, kind, function))
    assert text.strip()
    arguments = [each for each in inspect.signature(function).parameters if each not in ("self", "cls")]
    assert [each for each in arguments if not re.search(rf"\b{each}\b", text)] == []


def test_the_parts_of_handles_are_all_there() -> None:
    """Also the handles that attributes of handles lead to: nothing that a cell can reach is left out."""
    shown = {*api.PARTS.values(), *(getattr(labkit, name) for name in labkit.__all__)}
    with Lab(seed=7) as lab:
        lamp = lab.product("lamp", resources={"temperature": "number"})
        handles = (lab, lamp, lamp.device("l-1"), lab.solution("acme"), lamp.fleet(1, Thermostat()))
        reached = {
            type(value)
            for handle in handles
            for name, value in vars(handle).items()
            if not name.startswith("_") and isinstance(value, Handle)
        }
    assert len(reached) >= len(api.PARTS)
    assert reached - shown == set()


@pytest.mark.parametrize("name", [*labkit.__all__, "Lab.product", "lab.journal.select"])
def test_a_name_is_found_at_the_terminal(name: str) -> None:
    [entry] = [each for each in find(name) if each.kind == "Python"]
    assert len(entry.body) > 20
