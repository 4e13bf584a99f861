"""Frequency of faults: the first n, every n-th, or with a probability per actor."""

from __future__ import annotations

from itertools import pairwise, zip_longest
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from labkit.core.identifiers import Identifiers
from labkit.faults.fault import ActiveFault
from labkit.settings import FaultSettings, build

COUNTS = st.none() | st.integers(1, 6)
ACTORS = st.lists(st.sampled_from(["a", "b", "é/c"]), max_size=40)


def fault(seed: int = 7, **often: Any) -> ActiveFault:
    identifiers = Identifiers(seed)

    def draw(name: str, actor: str) -> float:
        return int(identifiers.hex(f"fault {name} {actor}", 13), 16) / 16**13

    return ActiveFault("f", build(FaultSettings, {"where": "GET /x", "status": 500, **often}), "hand", draw)


def plan(often: dict[str, Any], actors: list[str]) -> list[bool]:
    made = fault(**often)
    return [made.is_due(actor) for actor in actors]


@given(COUNTS, COUNTS, st.integers(0, 60))
def test_first_and_every(first: int | None, every: int | None, count: int) -> None:
    made = fault(first=first, every=every)
    hits = [number for number in range(1, count + 1) if made.is_due("a")]
    expected = [number for number in range(1, count + 1) if number % (every or 1) == 0][:first]
    assert hits == expected
    assert made.hits == len(expected)
    ended = first is not None and len(expected) == first
    assert made.state == ("ended" if ended else "active")
    assert made.seen == (expected[-1] if ended else count)


@given(st.floats(0.01, 1), ACTORS, st.randoms(use_true_random=False))
def test_an_actors_chance_does_not_depend_on_other_actors(
    chance: float, actors: list[str], random: Any
) -> None:
    together = list(zip(actors, plan({"chance": chance}, actors), strict=True))
    shuffled = list(actors)
    random.shuffle(shuffled)
    again = list(zip(shuffled, plan({"chance": chance}, shuffled), strict=True))
    for actor in set(actors):
        mine = [hit for each, hit in together if each == actor]
        assert mine == [hit for each, hit in again if each == actor]
        assert mine == plan({"chance": chance}, [actor] * len(mine))


def test_hits_have_about_the_set_probability_and_depend_on_the_seed() -> None:
    hits = [
        sum(fault(seed, chance=0.25).is_due(f"d-{number}") for number in range(2000)) for seed in (1, 2, 3)
    ]
    assert all(440 <= each <= 560 for each in hits)
    assert all(one != other for one, other in pairwise(hits))
    assert all(plan({"chance": 1}, ["a"] * 50))


def test_two_faults_draw_from_separate_streams() -> None:
    identifiers = Identifiers(7)

    def draws(*names: str) -> list[str]:
        return [identifiers.hex(f"fault {name} a", 13) for name in names]

    one, other = draws("x", "x", "x"), draws("y", "y", "y")
    assert all(a != b for a, b in zip_longest(one, other))
