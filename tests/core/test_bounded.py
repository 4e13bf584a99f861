"""Values cut to a size for the journal."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from labkit.core.bounded import DEEPEST, ITEM, cut, fits
from tests.cases import cases

LONGEST, MOST = 100, 400


@cases(
    ("value", "shown"),
    [
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 100 + "… 1 more character"),
        ("x" * 1_044_580, "x" * 100 + "… 1,044,480 more characters"),
        (b"\xe4" * 102, "ä" * 100 + "… 2 more characters"),
        ({"a": "x" * 102, "b": 1}, {"a": "x" * 100 + "… 2 more characters", "b": 1}),
        ([1] * 1000, [*[1] * 12, "… 988 more items"]),
        (
            {str(n): "" for n in range(100, 200)},
            {**{str(n): "" for n in range(100, 106)}, "…": "94 more entries"},
        ),
        (["x" * 90] * 5, [*["x" * 90] * 3, "xx… 88 more characters", "… 1 more item"]),
        (range(1000), "<range of 1,000>"),
    ],
)
def test_omitted_items_are_counted(value: object, shown: object) -> None:
    assert cut(value, LONGEST, MOST) == shown


def test_nested_tables_are_cut_at_a_depth() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert not fits(deep, LONGEST, MOST)
    shown = json.dumps(cut(deep, LONGEST, 10 * MOST))
    assert shown == "[" * DEEPEST + '"\\u2026 1 more item"' + "]" * DEEPEST


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=300) | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=300), inner, max_size=20),
    max_leaves=60,
)


@given(VALUES)
def test_any_value_is_cut_to_a_small_size(value: object) -> None:
    shown = cut(value, LONGEST, MOST)
    if fits(value, LONGEST, MOST):
        assert shown is value
    assert characters(shown) <= MOST + 20 * ITEM * DEEPEST


def characters(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(characters(name) + characters(each) for name, each in value.items())
    return sum(map(characters, value)) if isinstance(value, list | tuple) else 0
