"""Search for the smallest play that breaks the same promise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies

from labkit import Lab, LabError, LabWarning
from labkit.hunt import Draw, DrawnFault, HuntFailure, Promise, Story, eventually, hunt, play, replay, story
from labkit.hunt.plays.breach import breach_of
from labkit.hunt.plays.future import PlayPlan
from labkit.hunt.plays.player import play_seed
from labkit.hunt.search.continued import cut_down_file
from labkit.hunt.search.shrink import shrink
from labkit.hunt.search.trials import PlayTrial
from tests.hunt import hunted
from tests.hunt.hunted import IN_TIME, SLOW, Delays, InTime
from tests.lab.story_parts import Listens, Reports, counting, product_of

QUIET: dict[str, Any] = {"workers": 0, "progress": False}


def the_failure(told: Story, **options: Any) -> HuntFailure:
    [failure] = hunt(told, **{"seeds": 200, **QUIET, **options}).failures.values()
    return failure


@pytest.mark.timeout(300)
def test_faults_and_values_are_cut_down_while_the_promise_breaks() -> None:
    failure = the_failure(hunted.shop, level=Delays())
    assert failure.smallest is not None
    played = failure.smallest.played
    [fault] = played.faults  # the shortest delay that is long enough
    assert fault.settings["delay"] == 20
    assert played.drawn == (("customers", 1), ("goods", "ä"))
    assert failure.smallest.breach.is_same_as(failure.breach)
    assert failure.smallest.is_complete
    assert "  fault: call delay, where Keystore." in failure.lines()[2]
    assert 'drawn: customers 1, goods "ä"' in failure.lines()[3]
    assert "fault 1" in failure._repr_html_()


@pytest.mark.timeout(300)
def test_each_hunt_shrinks_anew() -> None:
    first, second = (the_failure(hunted.shop, level=Delays()) for _ in range(2))
    assert first.smallest is not None
    assert second.smallest is not None
    assert first.smallest.played == second.smallest.played
    assert first.smallest.plays == second.smallest.plays > 1


@pytest.mark.timeout(300)
def test_only_the_same_promise_is_the_same_failure() -> None:
    """A smaller play breaks another one: nothing drawn leads to an error of the story's code."""

    @story
    def two_ways(lab: Lab, draw: Draw) -> None:
        number = draw.number(0, 1000)
        if number < 100:
            raise ValueError("small")
        assert number < 500, "large"

    found = hunt(two_ways, 50, level="calm", stop="never", **QUIET)
    drawn = {
        title: each.smallest.played.drawn
        for title, each in found.failures.items()
        if each.smallest is not None
    }
    assert drawn == {
        "the story's own checks": ((None, 500),),
        "the story's own code (ValueError)": ((None, 0),),
    }


def test_two_assertions_of_a_story_are_two_failures() -> None:
    @story
    def two_lines(lab: Lab, draw: Draw) -> None:
        number = draw.number(0, 1000)
        assert number > 100, "small"
        assert number < 500, "large"

    plan = PlayPlan(two_lines)
    for seed in range(100):
        played = play_seed(plan, seed)
        assert played is not None
        breach = breach_of(two_lines, played)
        if breach is not None and breach.reason.startswith("large"):
            assert shrink(plan, PlayTrial(seed, breach)).played.drawn == ((None, 500),)
            return
    raise AssertionError("no seed draws a number above 500")


class Needless:
    """Source of faults of which hypothesis can leave out none, and only the second is needed."""

    def faults(self, draw: Draw, promises: tuple[Promise, ...]) -> tuple[DrawnFault, ...]:
        """Return the faults of a play."""
        places = ("User.*", "Keystore.set", "Keystore.get", "Config.*")
        return tuple(
            DrawnFault(SLOW, {"where": each, "delay": 20 if "set" in each else 1}) for each in places
        )


def test_each_fault_is_left_out_once() -> None:
    failure = the_failure(hunted.shop, level=Needless())
    assert failure.smallest is not None
    [fault] = failure.smallest.played.faults
    assert fault.settings == {"where": "Keystore.set", "delay": 20}


class Long:
    """Source of a fault of a calm story of an hour, of which the drawn story may have a minute."""

    def faults(self, draw: Draw, promises: tuple[Promise, ...]) -> tuple[DrawnFault, ...]:
        """Return the faults of a play."""
        settings = {"where": "Keystore.set", "status": 503, "after": 5, "first": 1, "seconds": 1800}
        return (
            DrawnFault("call error", settings),
            DrawnFault("wrong clock", {"products": "*", "seconds": 3600}),
        )


@pytest.mark.parametrize(("rest", "lasts"), [(1, 21), (0, 20.000001)])
def test_no_fault_lasts_longer_than_the_story(rest: float, lasts: float) -> None:
    @story
    def calls(lab: Lab, draw: Draw) -> None:
        product_of(lab).fleet(1, Reports).start(seconds=1)
        app = lab.solution("app")
        lab.wait(seconds=draw.number(20, 3600))
        failed = "error" in app.Keystore.set(key="k", value="v")
        lab.wait(seconds=rest)
        assert not failed

    failure = the_failure(calls, level=Long())
    assert failure.smallest is not None
    played = failure.smallest.played
    [fault] = played.faults
    assert (played.seconds, fault.settings) == (
        20 + rest,
        {"where": "Keystore.set", "status": 503, "first": 1, "seconds": lasts},
    )
    assert played.hits == (1,)
    again = play(calls, played.seed, faults=played.faults, values=played.drawn, check=False)
    assert again.journal == played.journal


class Lost:
    """Source of one fault: events are lost."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings

    def faults(self, draw: Draw, promises: tuple[Promise, ...]) -> tuple[DrawnFault, ...]:
        """Return the faults of a play."""
        return (DrawnFault("event lost", {"where": "device datapoint", "lost": True, **self._settings}),)


def fleets(expected: int | None) -> Story:
    """Return a story of two kinds of devices for an hour. expected: number of its runs, None for those of events."""

    def all_ran(lab: Lab) -> bool:
        written = len([each for each in lab.journal.select("event") if each.summary == "datapoint"])
        return len(lab.journal.select("script")) == (written if expected is None else expected)

    @story(promises=[eventually(all_ran, within=0)])
    def hour(lab: Lab, draw: Draw) -> None:
        product = product_of(lab)
        counting(lab, product)
        product.fleet({Reports: 4, Listens: 4}).run(hours=1)

    return hour


def test_fleets_and_runs_are_cut_down_too() -> None:
    told = fleets(None)
    failure = the_failure(told, level=Lost())
    assert failure.smallest is not None
    played = failure.smallest.played
    assert played.limits.data == {"devices": 1, "seconds": 60}
    assert played.seconds == 60
    assert "  fleets: at most 1 device of each behaviour, 60 s of each run" in failure.lines()
    assert "1 device of each behaviour" in failure._repr_html_()
    found = replay(failure.written(), story=told, check=False)
    assert found.is_exact
    assert failure.written().limits == {"devices": 1, "seconds": 60}
    assert 'limits={"devices": 1, "seconds": 60.0}' in failure.cell()


def test_a_fault_of_a_device_needs_that_device() -> None:
    failure = the_failure(fleets(None), level=Lost(identity=["t-003"], after=400.0))
    assert failure.smallest is not None
    assert failure.smallest.played.limits.data == {"devices": 3, "seconds": 60}  # the fault comes earlier now


@pytest.mark.sampled
def test_a_story_that_expects_its_own_size_keeps_it() -> None:
    failure = the_failure(fleets(240), level=Lost())
    assert failure.smallest is not None
    assert failure.smallest.played.limits.data == {}
    assert not any("fleets:" in each for each in failure.lines())


@pytest.mark.sampled
@pytest.mark.timeout(300)
def test_the_smallest_play_is_that_of_any_number_of_workers(tmp_path: Path) -> None:
    """Also if the search ends early, and goes on with the file."""
    found = [
        the_failure(hunted.shop, level=Delays(), workers=count, shrink=plays)
        for count in (0, 2)
        for plays in (4, 400)
    ]
    smallest = [each.smallest for each in found if each.smallest is not None]
    assert smallest[0::2] == [replace(smallest[0], seconds=each.seconds) for each in smallest[0::2]]
    assert smallest[1::2] == [replace(smallest[1], seconds=each.seconds) for each in smallest[1::2]]
    assert (smallest[0].is_complete, smallest[1].is_complete) == (False, True)
    again = cut_down_file(found[0].save(tmp_path), workers=0).smallest
    assert again is not None
    assert (again.played, again.is_complete) == (smallest[1].played, True)


def test_values_of_all_kinds_become_the_simplest_that_will_do() -> None:
    @story
    def kinds(lab: Lab, draw: Draw) -> None:
        numbers = draw(strategies.lists(strategies.integers(-1000, 1000), min_size=1))
        word = draw(strategies.text(min_size=3))
        share, often = draw.number(0.5, 9.5), draw.chance(0.9)
        for _ in range(draw.number(1, 9, label="rounds")):
            draw.number(0, 9, label="round")
        rows = [draw(strategies.tuples(strategies.booleans(), strategies.binary())) for _ in range(3)]
        assert not (often and max(numbers) > 17 and share > 2.2 and len(word) and rows)

    failure = the_failure(kinds, level="calm")
    assert failure.smallest is not None
    assert failure.smallest.is_complete
    *drawn, (_, rounds), _, _, _, _ = failure.smallest.played.drawn
    assert ([value for _, value in drawn], rounds) == ([[18], "000", 3.0, True], 1)


def test_what_a_count_counts_is_left_out_with_it() -> None:
    @story
    def counted(lab: Lab, draw: Draw) -> None:
        sold = [draw.number(1, 9, label="sold") for _ in range(draw.number(1, 9, label="sales"))]
        assert max(sold) < 8

    failure = the_failure(counted, level="calm", first_seed=3)
    assert failure.smallest is not None
    assert failure.smallest.played.drawn == (("sales", 1), ("sold", 8))


def test_a_limit_ends_the_search_with_what_was_found() -> None:
    plan = PlayPlan(hunted.odd)
    seed, breach = next(
        (seed, found)
        for seed in range(50)
        if (found := breach_of(hunted.odd, play(hunted.odd, seed, check=False))) is not None
    )
    shrunk = shrink(plan, PlayTrial(seed, breach), plays=1)
    assert (shrunk.plays, shrunk.is_complete) == (1, False)
    assert shrunk.played.drawn == play(hunted.odd, seed, check=False).drawn


def test_a_story_that_is_not_repeatable_is_told() -> None:
    count = 0

    @story
    def moody(lab: Lab, draw: Draw) -> None:
        nonlocal count
        count += 1
        assert count != 3, "in a bad mood"

    failure = the_failure(moody, level="calm")
    assert failure.smallest is None
    assert "does not break again" in failure.lines()[1]


def test_ctrl_c_ends_the_search() -> None:
    count = 0

    @story
    def pressed(lab: Lab, draw: Draw) -> None:
        nonlocal count
        number = draw.number(0, 1000)
        if number >= 500:
            count += 1
            if count == 4:
                raise KeyboardInterrupt
        assert number < 500

    with pytest.warns(LabWarning, match="cutting down interrupted after 4 plays"):
        found = hunt(pressed, 200, level="calm", **QUIET)
    [failure] = found.failures.values()
    assert found.interrupted
    assert failure.smallest is not None
    assert not failure.smallest.is_complete
    assert "not ended" in failure.lines()[1]


def test_a_play_that_breaks_nothing_cannot_be_cut_down() -> None:
    breach = breach_of(
        hunted.odd, play(hunted.odd, the_failure(hunted.odd, level="calm").numbers[0], check=False)
    )
    assert breach is not None
    never = InTime("never broken", 1e9, IN_TIME.under)
    calm = Story(hunted.shop.function, {}, [never])
    with pytest.raises(LabError, match="does not break again"):
        shrink(PlayPlan(calm), PlayTrial(1, breach))
