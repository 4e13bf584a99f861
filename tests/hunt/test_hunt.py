"""Hunts: plays of many seeds, what they showed, and their failures."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from labkit import Lab, LabError, LabWarning
from labkit.hunt import Draw, Hunt, Menu, Story, eventually, hunt, play, story
from labkit.hunt.search.rows import traits_of
from tests.hunt import hunted
from tests.hunt.hunted import CALM, IN_TIME, SOON, Delays
from tests.sizes import size

PLAIN: dict[str, Any] = {"workers": 0, "shrink": 0, "progress": False}


def rows(found: Hunt) -> list[tuple[object, ...]]:
    """Return the plays of a hunt without their real times."""
    frame = found.frame().drop(columns="seconds").reset_index()
    return [tuple(row) for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False)]


def test_a_hunt_ends_with_the_first_failure() -> None:
    found = hunt(hunted.shop, 100, level=Delays(), **PLAIN)
    [failure] = found.failures.values()
    assert (failure.title, len(failure.numbers), found.good) == (IN_TIME.name, 1, False)
    assert failure.numbers == (found.done[-1].number,)
    assert failure.breach.reason.startswith("it took ")
    assert [each for each in found.done if each.row is None or each.row.breaches] == found.done[-1:]
    assert failure.play().verdicts == found.play(failure.numbers[0]).verdicts


@pytest.mark.sampled
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("forks")
def test_any_number_of_workers_plays_the_same() -> None:
    plays = size(90, 300)
    alone, many = (
        hunt(hunted.shop, plays, level=Delays(), stop="never", **{**PLAIN, "workers": count})
        for count in (0, 2)
    )
    assert rows(alone) == rows(many)
    assert {title: each.numbers for title, each in alone.failures.items()} == {
        title: each.numbers for title, each in many.failures.items()
    }
    assert (alone.workers, many.workers) == (0, 2)
    assert "2 processes" in many.text()


@pytest.mark.sampled
def test_each_play_can_be_repeated() -> None:
    found = hunt(hunted.shop, 20, level=Delays(), stop="never", **PLAIN)
    for done in found.done[-8:]:
        assert done.row is not None
        again = found.play(done.number)
        assert traits_of(again.journal) == done.row.traits
        assert tuple(each.kind for each in again.faults) == done.row.faults
        assert {each.promise: each.state for each in again.verdicts} == done.row.verdicts
    with pytest.raises(LabError, match="no play 1000"):
        found.play(1000)


def test_a_play_is_that_of_its_seed() -> None:
    first = hunt(hunted.shop, 1, first_seed=17, level="calm", **PLAIN)
    assert first.play(17) == play(hunted.shop, 17, check=False)
    assert list(first.frame().index) == [17]


def test_promises_are_counted_and_untested_ones_named() -> None:
    found = hunt(hunted.shop, 40, level=Delays(), stop="never", **PLAIN)
    states = found.promises
    assert set(states) == {IN_TIME.name, SOON.name, CALM.name}
    assert all(sum(counts.values()) == 40 for counts in states.values())
    assert states[IN_TIME.name]["broken"] == len(found.failures[IN_TIME.name].numbers) > 0
    assert states[SOON.name]["kept"] > 0
    assert states[CALM.name]["not judged"] > 0  # delays of calls are none of its kinds
    assert found.untested == [CALM.name]
    assert f"never put to the test: {CALM.name}" in found.text()
    assert found.faults.total() == found.frame()["faults"].sum() > 0


def test_other_promises_replace_those_of_the_story() -> None:
    found = hunt(hunted.shop, 40, level=Delays(), promises=[SOON], stop="never", **PLAIN)
    assert list(found.promises) == [SOON.name]
    assert found.good


def test_errors_of_a_story_are_told_apart() -> None:
    found = hunt(hunted.odd, 60, level="calm", stop="never", **PLAIN)
    assert set(found.failures) == {"the story's own checks", "the story's own code (ValueError)"}
    reason = found.failures["the story's own checks"].breach.reason
    assert reason.startswith("too large: ")
    assert "(hunted.py:" in reason
    assert found.failures["the story's own code (ValueError)"].breach.reason.startswith(
        "ValueError: number 9"
    )


def test_what_breaks_without_any_fault_is_told_first() -> None:
    """Also where it breaks in no other play."""

    def restarts(lab: Lab) -> bool:
        return bool(lab.journal.select("restart"))

    def calm(lab: Lab) -> bool:
        return not restarts(lab)

    @story(promises=[eventually(calm), eventually(restarts)])
    def told(lab: Lab, draw: Draw) -> None:
        lab.solution("app").Keystore.set(key="n", value="1")
        lab.wait(minutes=10)

    found = hunt(told, 1, level=Menu(kinds="restart", most=20), stop="never", **PLAIN)
    assert [(title, each.in_calm) for title, each in found.failures.items()] == [
        ("eventually restarts", True),
        ("eventually calm", False),
    ]
    first, second = found.failures.values()
    assert (len(first.play().faults), len(second.play().faults) > 0) == (0, True)
    assert found.failure_lines()[0].startswith(
        "broken: eventually restarts (play 0; also broken in calm, without any fault; promised in test_hunt.py:"
    )
    assert found.as_dict()["failures"][0]["calm"]


def test_an_assertion_without_text_shows_its_line() -> None:
    @story
    def plain(lab: Lab, draw: Draw) -> None:
        number = draw.number(0, 3)
        if number > 2:
            raise AssertionError

    [failure] = hunt(plain, 50, level="calm", **PLAIN).failures.values()
    assert failure.breach.reason.startswith("raise AssertionError (test_hunt.py:")


def test_results_are_shown_as_text_html_frame_and_json() -> None:
    found = hunt(hunted.shop, 40, level=Delays(), stop="never", parameters={"customers": 4}, **PLAIN)
    frame = found.frame()
    assert len(frame) == found.seeds == 40
    assert frame["broke"].dropna().eq(IN_TIME.name).all()
    assert set(frame[IN_TIME.name]) <= {"kept", "broken", "untested", "not judged"}
    assert "40 plays in" in found.text()
    assert "a second" in repr(found)
    assert f"broken: {IN_TIME.name}" in found._repr_html_()
    data = json.loads(json.dumps(found.as_dict()))
    assert (data["plays"], data["failures"][0]["promise"]) == (40, IN_TIME.name)


@pytest.mark.sampled
def test_ctrl_c_returns_what_is_known() -> None:
    with pytest.warns(LabWarning, match=r"hunt interrupted after \d+ plays, whose results are returned"):
        found = hunt(hunted.interrupted, 500, level="calm", **PLAIN)
    assert found.interrupted
    assert 0 < found.seeds < 500
    assert "interrupted" in found.text()


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("forks")
def test_a_play_that_ends_its_process_is_told_and_loses_no_other() -> None:
    found = hunt(hunted.deadly, 8, level="calm", workers=1, progress=False)
    assert [each.number for each in found.done] == list(range(8))
    assert 0 < len(found.lost) < 8
    assert not found.good
    assert f"lost play {found.lost[0].number}: " in found.text()


def test_the_end_of_the_time_ends_a_hunt() -> None:
    found = hunt(hunted.shop, time=0.5, level="calm", **PLAIN)
    assert found.seeds > 0
    assert found.good


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seeds": 0}, "seeds: expected a whole number above 0, not 0"),
        ({"seeds": True}, "seeds: expected a whole number above 0, not True"),
        ({"time": 0}, "time: expected a number of seconds above 0"),
        ({"first_seed": -1}, "first_seed: expected a whole number of 0 or more, not -1"),
        ({"stop": "last"}, "stop: expected first or never, not 'last'"),
        ({"level": "wlid"}, "wlid"),
        ({"parameters": {"custmers": 1}}, "did you mean customers"),
        ({"workers": -1}, "workers"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(LabError, match=message):
        hunt(hunted.shop, **{"progress": False, "level": "calm", **arguments})


def test_what_cannot_travel_is_named_with_its_line() -> None:
    lock = threading.Lock()

    def is_free(lab: Lab) -> bool:
        return lock.locked() is False

    told = Story(hunted.shop.function, {}, [eventually(is_free)])
    with pytest.raises(
        LabError, match=r"^shop: test_hunt\.py:\d+ uses 'lock', a lock, which cannot travel to another"
    ):
        hunt(told, 1, level="calm", workers=1, progress=False)


def test_what_is_no_story_is_named() -> None:
    with pytest.raises(LabError, match="expected a function with @story"):
        hunt(test_what_is_no_story_is_named)  # type: ignore[arg-type]


# --- coverage -----------------------------------------------------------------------------------------------


def test_traits_are_pairs_statuses_and_faults() -> None:
    found = hunt(hunted.shop, 10, level=Delays(), stop="never", **PLAIN)
    traits = {trait for each in found.done if each.row is not None for trait in each.row.traits}
    assert {"call 200", "call 200 → call 200", "fault at Keystore.set"} <= traits
    assert sum(each.new for each in found.done) == len(traits)
