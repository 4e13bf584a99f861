"""Size limits of values, checked without visiting the whole value."""

from __future__ import annotations

import time
from typing import Any

from labkit.services.bounds import fits, shown_name
from tests.cases import cases


@cases(
    ("value", "size"),
    [
        ("", 1),
        ("abc", 4),
        (None, 1),
        (12345, 1),
        ([], 1),
        ([1, 2], 5),
        ({"ab": "cd"}, 8),
        ([["a"], {"b": (1,)}], 14),
    ],
)
def test_a_value_fits_from_its_size_on(value: object, size: int) -> None:
    assert fits(value, size)
    assert not fits(value, size - 1)


def test_endless_deep_and_huge_values_are_detected_at_once() -> None:
    endless: list[Any] = []
    endless.append(endless)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    huge = [["x"] * 1000] * 100_000
    began = time.process_time()
    assert [fits(each, 10_000) for each in (endless, deep, huge, {"k" * 10**7: 1})] == [False] * 4
    assert time.process_time() - began < 0.5


def test_a_long_name_is_cut() -> None:
    assert shown_name("x" * 64) == "x" * 64
    assert shown_name("x" * 10**6) == "x" * 64 + "…"
