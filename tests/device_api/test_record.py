"""Recording: odd timestamps, journal records, and conflicts, as properties."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.device_api.record import SECOND, absolute, first_clash, grouped
from labkit.http.error import HttpError
from tests.device_api.rig import RECORD, DeviceRig

NOW = 1767225600

# --- stored points ------------------------------------------------------------------------------------------


async def stored(rig: DeviceRig) -> list[tuple[Any, ...]]:
    return [row[2:5] for row in (await rig.kept())["datapoint"]]


@pytest.mark.parametrize(
    ("body", "points"),
    [
        (
            "alias=text&5=a&alias=number&5=1&alias=text&7=b",
            [("number", 5, "1"), ("text", 5, "a"), ("text", 7, "b")],
        ),
        ("alias=unknown&5=a", []),
        ("alias=text&0=a", [("text", 0, "a")]),
        ("alias=text&1.999999999=a", [("text", 1, "a")]),
        ("alias=text&-0=a", [("text", NOW, "a")]),
        ("alias=text&-0.5=a&-1.5=b", [("text", NOW - 2, "b"), ("text", NOW - 1, "a")]),
        ("alias=text&5", [("text", 5, "")]),
        ("alias=text&5=a+%26%C3%BC", [("text", 5, "a &ü")]),
    ],
)
async def test_a_body_stores_its_points(rig: DeviceRig, body: str, points: list[Any]) -> None:
    client = await rig.device()
    answer = await client.ask("POST", RECORD, body)
    assert (answer.status, answer.header("Content-Length"), answer.body) == (204, "0", b"")
    assert await stored(rig) == points
    assert len(rig.events("data_in")) == bool(points)
    assert len(rig.events("datapoint")) == len(points)


async def test_points_that_are_not_stored_are_in_the_journal(rig: DeviceRig) -> None:
    client = await rig.device()
    await client.ask("POST", RECORD, "alias=Text&5=a&-6=b&alias=text&5=c")
    detail = rig.platform.context.journal.select("request")[-1].detail
    assert detail == {
        "not_stored": [("Text", "5=a"), ("Text", "-6=b")],
        "unknown_aliases": ["Text"],
        "hint": "ignored, since the product has no resource 'Text'; did you mean text?",
    }


# --- conflicts ----------------------------------------------------------------------------------------------


TIMES = st.decimals(0, 6, places=1) | st.integers(0, 6).map(Decimal)
GROUPS = st.lists(st.tuples(st.sampled_from("ab"), TIMES), min_size=1, max_size=12)


def model(points: list[tuple[str, Decimal]]) -> dict[str, Decimal]:
    """Return, per alias in conflict, the first point of the first pair, in the order in which pairs are complete."""
    found: dict[str, Decimal] = {}
    for later, (alias, time) in enumerate(points):
        for other, earlier in points[:later]:
            if other == alias and alias not in found and abs(time - earlier) < 1:
                found[alias] = earlier
    return found


@given(GROUPS)
def test_conflicts_against_a_model(points: list[tuple[str, Decimal]]) -> None:
    pairs = [pair for alias, time in points for pair in (("alias", alias), (str(time), "x"))]
    groups = grouped(pairs)
    assert {alias: [number for _, number, _ in group] for alias, group in groups.items()} == {
        alias: [time * SECOND for each, time in points if each == alias] for alias, _ in points
    }
    found = {alias: first_clash(group) for alias, group in groups.items()}
    assert {alias: second for alias, second in found.items() if second is not None} == {
        alias: math.floor(time) for alias, time in model(points).items()
    }


@given(st.lists(st.decimals(0, 50, places=3), max_size=6), st.floats(1000, 2e9))
def test_the_time_of_receipt_shifts_all_negative_timestamps_equally(ages: list[Decimal], now: float) -> None:
    group = [(f"-{age}", -int(age * SECOND), "x") for age in ages]
    moved = absolute(group, math.floor(Decimal(now) * SECOND))
    assert [text for text, _, _ in moved] == [text for text, _, _ in group]
    assert (first_clash(moved) is None) == (first_clash(group) is None)
    for (_, moment, _), age in zip(moved, ages, strict=True):
        assert abs(Decimal(moment) - (Decimal(now) - age) * SECOND) < 1


@given(
    st.lists(
        st.tuples(st.sampled_from(["alias", "1", "2.5", "-3", "x", ""]), st.sampled_from("ab")), max_size=8
    )
)
def test_a_body_is_read_as_groups_or_refused(pairs: list[tuple[str, str]]) -> None:
    body = " ".join(
        "A" if name == "alias" else "P" if name in ("1", "2.5", "-3") else "?" for name, _ in pairs
    )
    try:
        groups = grouped(pairs)
    except HttpError as refusal:
        assert refusal.status == 400  # noqa: PT017 - both ways out are fine
        assert not body.startswith("A") or "?" in body or "A A" in body or body.endswith("A")
        return
    assert body.startswith("A P")
    assert sum(map(len, groups.values())) == body.count("P")


@given(
    st.dictionaries(st.sampled_from(["text", "flag"]), st.lists(st.integers(0, 9), unique=True, min_size=1))
)
async def test_distinct_seconds_never_conflict(points: dict[str, list[int]]) -> None:
    pairs = [
        pair
        for alias, times in points.items()
        for pair in (("alias", alias), *((str(t), "1") for t in times))
    ]
    assert urlencode(pairs).count("alias") == len(points)
    if pairs:
        assert not any(first_clash(group) for group in grouped(pairs).values())
