"""Identifiers: reproducible streams per actor with a seed, unguessable without one."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.identifiers import ALPHANUMERIC, Identifiers

CALLS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["hex", "alphanumeric"]), st.integers(1, 40)),
    max_size=20,
)


def streams(seed: int | None, calls: list[tuple[str, str, int]]) -> dict[str, list[str]]:
    identifiers = Identifiers(seed)
    made: dict[str, list[str]] = {"a": [], "b": [], "c": []}
    for actor, kind, length in calls:
        made[actor].append(getattr(identifiers, kind)(actor, length))
    return made


@given(CALLS, st.randoms(use_true_random=False), st.integers())
def test_an_actors_identifiers_do_not_depend_on_other_actors(calls, random, seed) -> None:  # type: ignore[no-untyped-def]
    turns = [actor for actor, _, _ in calls]
    random.shuffle(turns)
    waiting = {actor: iter([call for call in calls if call[0] == actor]) for actor in "abc"}
    shuffled = [next(waiting[actor]) for actor in turns]
    assert streams(seed, calls) == streams(seed, shuffled)


def test_seeds_actors_counts_and_starts_have_different_streams() -> None:
    made = [Identifiers(seed).hex(actor, 32) for seed in (1, 2, 12) for actor in ("a", "b", "2\0a", "")]
    again = Identifiers(1)
    made += [again.hex("a", 32) for _ in range(3)][1:]
    for start in (2, 3):
        later = Identifiers(1)
        later.start = start
        made += [later.hex("a", 32) for _ in range(3)]
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("seed", [None, 7])
@given(length=st.integers(0, 200))
def test_lengths_and_letters(seed: int | None, length: int) -> None:
    identifiers = Identifiers(seed)
    code, text = identifiers.hex("a", length), identifiers.alphanumeric("a", length)
    assert (len(code), len(text)) == (length, length)
    assert set(code) <= set("0123456789abcdef")
    assert set(text) <= set(string.ascii_letters + string.digits)


@pytest.mark.parametrize("seed", [None, 7])
def test_all_letters_are_equally_frequent(seed: int | None) -> None:
    identifiers = Identifiers(seed)
    text = "".join(identifiers.alphanumeric("a", 40) for _ in range(1550))  # 62 000 letters, 1 000 of each
    counts = [text.count(letter) for letter in ALPHANUMERIC]
    assert min(counts) > 800  # 6 standard deviations
    assert max(counts) < 1200


def test_without_a_seed_no_identifier_repeats() -> None:
    made = [Identifiers().hex("a", 40) for _ in range(100)] + [
        Identifiers().alphanumeric("a", 40) for _ in range(100)
    ]
    assert len(set(made)) == 200
