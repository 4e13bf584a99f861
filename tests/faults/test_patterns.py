"""Patterns: they match like regular expressions, in a time that hostile texts cannot extend."""

from __future__ import annotations

import re
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from labkit.faults.patterns import Pattern, Patterns

LETTERS = st.text("ab*é\n", max_size=8)


@given(LETTERS, st.text("abé\n", max_size=12))
def test_patterns_match_like_a_regular_expression(pattern: str, text: str) -> None:
    regular = ".*".join(map(re.escape, pattern.split("*")))
    assert Pattern(pattern).matches(text) == bool(re.fullmatch(regular, text, re.DOTALL))


@given(st.text(max_size=30))
def test_a_text_matches_itself(text: str) -> None:
    assert Pattern(text).matches(text)
    assert Pattern(f"*{text}*").matches(f"before{text}after")


def test_the_ends_of_a_pattern_do_not_overlap() -> None:
    assert not Pattern("aba*aba").matches("aba")
    assert not Pattern("*ab*ba*").matches("aba")


def test_many_stars_do_not_take_long() -> None:
    started = process_time()
    assert not Pattern("*a" * 200 + "b").matches("a" * 20_000)
    assert process_time() - started < 1


def test_an_unknown_value_matches_no_pattern() -> None:
    assert Patterns(None).match(None)
    assert not Patterns(["*"]).match(None)
    assert Patterns(["a", "b*"]).match("bc")
    assert not Patterns([]).match("bc")
