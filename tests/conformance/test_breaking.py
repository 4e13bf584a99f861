"""Building blocks of faults in code."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from labkit.conformance import breaking
from labkit.conformance.breaking import always, call_after, call_before, change_arguments, change_result, wrap
from labkit.conformance.mutant import SMOKE, patch


def area(width: int, height: int = 2, *, unit: str = "m") -> str:
    return f"{width * height} {unit}"


async def later(width: int) -> int:
    return width


async def fails(width: int) -> int:
    raise LookupError(width)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (always("nothing"), "nothing"),
        (change_result(str.upper), "6 M"),
        (change_arguments(height=5), "15 m"),  # also if the call does not pass it
        (change_arguments(height=lambda height: height + 1), "6 m"),  # for a result of None
        (change_arguments(width=lambda width: width + 1, unit="km"), "8 km"),
        (change_arguments(depth=1), "6 m"),
        (lambda original, width, *of: original(width + 1, *of), "8 m"),
    ],
)
def test_a_change_replaces_a_call(change: Callable[..., Any], expected: str) -> None:
    assert wrap(area, change)(3) == expected


def test_keyword_arguments_are_changed_too() -> None:
    assert (
        wrap(area, change_arguments(height=lambda height: height + 1, unit=str.upper))(3, height=4, unit="cm")
        == "15 CM"
    )


def test_a_changed_coroutine_function_stays_one() -> None:
    assert asyncio.run(wrap(later, always(7))(3)) == 7
    assert asyncio.run(wrap(later, change_result(lambda width: -width))(3)) == -3
    assert asyncio.run(wrap(later, change_arguments(width=5))(3)) == 5
    with pytest.raises(LookupError):
        asyncio.run(wrap(fails, change_result(lambda width: -width))(3))


def test_further_functions_are_called_before_and_after() -> None:
    done: list[object] = []
    first = wrap(area, call_before(lambda *of: done.append(of)))
    assert wrap(first, call_after(lambda *of: done.append(of)))(3) == "6 m"
    assert done == [(3,), ("6 m", 3)]


class Room:
    def __init__(self, width: int) -> None:
        self.width = width

    @property
    def wide(self) -> bool:
        return self.width > 3

    @classmethod
    def of(cls, width: int) -> Room:
        return cls(width)

    @staticmethod
    def unit() -> str:
        return "m"


def test_properties_and_methods_of_a_class_keep_their_kind() -> None:
    class Broken(Room):
        wide = wrap(vars(Room)["wide"], change_result(lambda wide: not wide))
        of = wrap(vars(Room)["of"], change_arguments(width=lambda width: width * 2))
        unit = wrap(vars(Room)["unit"], always("km"))

    found = Broken.of(1)
    assert (type(found), found.width, found.wide, found.unit()) == (Broken, 2, True, "km")


def test_a_change_has_a_signature() -> None:
    """So that test_mutants.py notices a change whose parameters differ from the original's."""

    def parameters_of(change: Callable[..., Any]) -> list[str]:
        return [*inspect.signature(wrap(area, change)).parameters]

    assert parameters_of(lambda original, width, height: None) == ["width", "height"]
    assert parameters_of(change_result(str)) == ["arguments", "named"]
    assert parameters_of(lambda *_: None) == ["arguments", "named"]


def test_a_patch_is_declared_by_a_function_or_in_one_expression() -> None:
    @patch("X-Y-1 X-Y-2", "labkit.nothing:at_all", from_start=True)
    def fault(original: Any, width: int) -> Any:
        """something goes wrong"""
        return original(width + 1)

    assert (fault.name, fault.title) == ("test-breaking/fault", "something goes wrong")
    assert (fault.requirements, fault.smoke, fault.from_start) == (("X-Y-1", "X-Y-2"), SMOKE, True)
    assert fault.replace(area)(3) == "8 m"
    declare = patch("X-Y-1", "labkit.nothing:at_all", "something goes wrong", smoke="a/b")
    same = declare(change_arguments(width=4))
    assert (same.name, same.title, same.smoke, same.from_start) == ("", "something goes wrong", "a/b", False)
    assert same.replace(area)(3) == "8 m"


def test_an_error_object_is_recognized() -> None:
    assert breaking.is_error({"error": "no"})
    assert not breaking.is_error({})
    assert not breaking.is_error(None)
