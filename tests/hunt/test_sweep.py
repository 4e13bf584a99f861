"""Sweeps over parameters and seeds, comparisons of plays and of runs, and bootstrap intervals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pytest

from labkit import Lab, LabError, LabWarning, Thermostat
from labkit.hunt import Draw, Menu, compare, eventually, play, story, sweep
from labkit.hunt.comparing.bootstrap import Estimate, difference_interval, mean_interval
from labkit.hunt.story import Story
from tests.lab.story_parts import Reports, counting, product_of


class Policy:
    """Value of a parameter, of a module that a worker may be unable to import."""

    def __init__(self, pause: int) -> None:
        self.pause = pause


@story
def outage(
    lab: Lab, draw: Draw, *, policy: Policy | None = None, fault: str = "é none", scale: float = 1
) -> dict[str, object]:
    pause = 1 if policy is None else policy.pause
    lab.wait(seconds=pause)
    noise = draw.number(0, 100)
    return {"lost": (noise + 10 * pause) * scale, "fault_seen": fault, "drawn": noise}


@story
def fails(lab: Lab, draw: Draw, *, when: int = 0) -> int:
    if draw.number(0, 3) == when:
        raise ValueError("unlucky")
    return 1


def cell(frame: pandas.DataFrame, row: object, column: str) -> Any:
    values: Any = frame.loc
    return values[row, column]


POLICIES = {"fast": Policy(1), "slow $x_1": Policy(3)}


class TestSweep:
    @pytest.mark.usefixtures("forks")
    def test_the_grid_over_workers(self) -> None:
        swept = sweep(outage, 3, workers=2, policy=POLICIES, fault=["a", "b"], scale=2)
        frame = swept.frame()
        assert list(frame.columns) == [
            "policy",
            "fault",
            "scale",
            "seed",
            "lost",
            "fault_seen",
            "drawn",
            "error",
        ]
        places = [(p, f, s) for p in POLICIES for f in "ab" for s in range(3)]
        assert list(frame[["policy", "fault", "seed"]].itertuples(index=False, name=None)) == places
        here = sweep(outage, 3, workers=0, policy=POLICIES, fault=("a", "b"), scale=2).frame()
        pandas.testing.assert_frame_equal(frame, here)
        alone = play(outage, 2, parameters={"policy": Policy(3), "scale": 2}).result
        assert isinstance(alone, dict)
        row = swept.select(policy="slow $x_1", fault="b").frame().loc[2]
        assert (row["lost"], row["fault_seen"]) == (alone["lost"], "b")
        assert swept.measures == ["lost", "drawn"]
        assert repr(swept) == "<sweep of outage: 12 plays>"

    def test_no_parameters_and_given_seeds(self) -> None:
        swept = sweep(outage, [5, 3], workers=0)
        assert list(swept.frame()["seed"]) == [5, 3]
        assert list(swept.summary("drawn").index) == ["outage"]
        assert math.isnan(cell(swept.summary(), "outage", "low"))  # two plays say nothing about chance
        swept.chart()

    def test_one_number_is_a_measure(self) -> None:
        assert set(sweep(fails, 4, workers=0, when=7).frame()["result"]) == {1}

    def test_summary_and_chart(self) -> None:
        swept = sweep(outage, 8, workers=0, policy=POLICIES, fault=["a", "b"])
        summary = swept.chart("lost", by="fault")
        pandas.testing.assert_frame_equal(summary, swept.summary("lost"))
        assert list(summary.index) == [(p, f) for p in POLICIES for f in "ab"]
        assert swept.varying == ["policy", "fault"]
        assert list(swept.select(policy="fast").summary().index) == ["a", "b"]
        values = swept.select(policy="fast", fault="a").frame()["lost"]
        row: Any = summary.loc[("fast", "a")]
        assert row["mean"] == values.mean()
        assert values.min() < row["low"] < row["mean"] < row["high"] < values.max()
        assert tuple(row[["plays", "errors"]]) == (8, 0)

    def test_errors_of_plays(self) -> None:
        with pytest.raises(ValueError, match="unlucky") as raised:
            sweep(fails, 20, workers=0)
        assert "play(fails, seed=" in raised.value.__notes__[-1]
        swept = sweep(fails, 20, workers=0, when=[0, 9], check=False)
        frame = swept.frame()
        failed = frame[frame["error"].notna()]
        assert set(failed["error"]) == {"ValueError: unlucky"}
        assert failed["result"].isna().all()
        assert set(failed["when"]) == {0}
        assert swept.summary().loc[0, "errors"] == len(failed)
        assert f"{len(failed)} with an error" in repr(swept)

    @pytest.mark.usefixtures("forks")
    def test_a_play_that_takes_too_long(self) -> None:
        @story
        def waits(lab: Lab, draw: Draw, *, seconds: float = 0) -> int:
            time.sleep(seconds)
            return 1

        frame = sweep(waits, 1, workers=1, within=5, seconds=[600, 0]).frame()
        assert list(frame["error"]) == ["WorkerError: ended after its limit of 5 s", None]

    def test_an_interrupt_keeps_the_plays(self) -> None:
        seen: list[int] = []

        @story
        def interrupted(lab: Lab, draw: Draw) -> int:
            if len(seen) == 2:
                raise KeyboardInterrupt
            seen.append(1)
            return 1

        with pytest.warns(LabWarning, match="interrupted: 2 of 5 plays"):
            swept = sweep(interrupted, 5, workers=0)
        assert repr(swept) == "<sweep of interrupted: 2 of 5 plays>"

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"story": 3}, "sweep: expected a function with @story, not 3"),
            ({"seeds": 0}, "seeds: expected a number of seeds from 1"),
            ({"seeds": [1, 1]}, "seeds: expected"),
            ({"seeds": "12"}, "seeds: expected"),
            (
                {"polcy": 3},
                "outage: no parameter 'polcy', there are: policy, fault, scale; did you mean policy",
            ),
            ({"scale": []}, "scale: expected at least one value"),
            ({"scale": "ß"}, "outage: scale: expected a number, as its default 1 is, not 'ß'"),
            ({"scale": [2, "3"]}, "outage: scale: expected a number, as its default 1 is, not '3'"),
            ({"level": "mild"}, "no level 'mild', there are: calm, rough, wild"),
            ({"scale": [1, 1]}, "scale: two values have the same label"),
            ({"workers": -1}, "workers: expected"),
        ],
    )
    def test_wrong_arguments(self, arguments: dict[str, Any], text: str) -> None:
        with pytest.raises(LabError, match=text):
            sweep(**{"story": outage, "seeds": 1, **arguments})

    def test_wrong_measures(self) -> None:
        def told(function: Callable[[int], object]) -> Story:
            @story
            def wrong(lab: Lab, draw: Draw, *, n: int = 0) -> object:
                return function(n)

            return wrong

        for function, text in (
            (lambda n: {"seed": 1}, "measure 'seed': expected a name other than seed, error, n"),
            (lambda n: {"n": 1}, "measure 'n'"),
            (lambda n: {"x": [1]}, r"measure 'x': expected a number, a text or None, not \[1\]"),
            (lambda n: {"x": 1} if n else {"y": 1}, "plays have different measures: x, y"),
        ):
            with pytest.raises(LabError, match=text):
                sweep(told(function), 1, workers=0, n=[0, 1])

    def test_unknown_names(self) -> None:
        swept = sweep(outage, 1, workers=0, fault=["a"])
        with pytest.raises(LabError, match="no measure 'lots', there are: lost, drawn; did you mean lost"):
            swept.summary("lots")
        with pytest.raises(LabError, match="measure 'fault_seen': expected one of numbers, such as lost"):
            swept.summary("fault_seen")
        with pytest.raises(LabError, match="by: no parameter with several values 'x', there are: none"):
            swept.chart(by="x")
        with pytest.raises(LabError, match="select: no parameter 'x'"):
            swept.select(x=1)
        with pytest.raises(LabError, match="select: fault: no value 'b', there are: a"):
            swept.select(fault="b")
        with pytest.raises(LabError, match=r"level: expected a share .* such as 0\.95, not 95"):
            swept.summary(level=95)

    def test_a_story_without_numbers(self) -> None:
        @story
        def silent(lab: Lab, draw: Draw) -> None:
            pass

        swept = sweep(silent, 1, workers=0)
        with pytest.raises(
            LabError, match="silent: the story returns no numbers; expected a number, or a dict"
        ):
            swept.chart()


@story
def metered(lab: Lab, draw: Draw, *, devices: int = 2, firmware: str = "a") -> dict[str, object]:
    """Return the faults of the play, as they are in the lab, a drawn value, and how many handlers ran."""
    product = product_of(lab)
    app = counting(lab, product)
    faults = [repr(each.info) for each in lab.faults] + [
        repr(lab.device_faults.counts(name)) for name in lab.device_faults
    ]
    drawn = draw.number(0, 10**9)
    product.fleet(devices, Reports).run(minutes=5)
    runs = len(lab.journal.select("script", app.id))
    return {"faults": "; ".join(faults), "count": len(faults), "drawn": drawn, "runs": runs}


def all_ran(lab: Lab) -> bool:
    return len(lab.journal.select("script")) == len(
        [each for each in lab.journal.select("event") if each.summary == "datapoint"]
    )


class TestSweepUnderFaults:
    @pytest.mark.sampled
    def test_a_seed_has_the_same_faults_in_each_combination(self) -> None:
        swept = sweep(metered, 6, level="wild", workers=0, devices=[3, 1], firmware=["é", "b"])
        frame = swept.frame()
        assert frame.groupby("seed")[["faults", "drawn"]].nunique().eq(1).all(axis=None)
        assert frame["faults"].nunique() > 4
        assert frame["count"].max() > 1
        runs = frame.groupby("devices")["runs"].mean()
        assert runs[3] > runs[1] > 0
        other = sweep(metered, 6, level="wild", workers=1, devices=[3, 1], firmware=["é", "b"]).frame()
        pandas.testing.assert_frame_equal(frame, other)

    def test_a_play_of_it_again(self) -> None:
        swept = sweep(metered, [4], level=Menu(kinds="events", most=9), workers=0, devices=[3, 1])
        part = swept.select(devices=1)
        row = part.frame().loc[0]
        played = play(metered, 4, parameters={"devices": 1}, level=part.level)
        assert played.result == row[["faults", "count", "drawn", "runs"]].to_dict()
        assert len(played.faults) >= row["count"] > 0
        assert sweep(metered, 1, workers=0).level is None

    def test_a_broken_promise_has_measures(self) -> None:
        told = Story(metered.function, {}, [eventually(all_ran, within=0, under=["event lost"])])
        options: dict[str, Any] = {"level": Menu(most=1), "workers": 0, "devices": [3, 1]}
        frame = sweep(told, 4, check=False, **options).frame()
        broken = frame[frame["error"].notna()]
        assert set(broken["error"].str[:46]) == {"the promise 'eventually all_ran' is broken: ex"}
        assert 0 < len(broken) < len(frame)
        assert frame["runs"].notna().all()
        with pytest.raises(LabError, match="the promise 'eventually all_ran' is broken"):
            sweep(told, 4, **options)

    def test_a_parameter_of_the_name(self) -> None:
        @story
        def named(lab: Lab, draw: Draw, *, level: int = 1) -> int:
            return level

        with pytest.raises(
            LabError, match="sweep: level: named has a parameter of this name, too; rename that"
        ):
            sweep(named, 1, level="rough")


class TestCompare:
    def test_plays_of_the_same_seeds_are_pairs(self) -> None:
        swept = sweep(outage, 8, workers=0, policy=POLICIES)
        fast, slow = swept.select(policy="fast"), swept.select(policy="slow $x_1")
        found = compare(fast, slow, names=("fast", "slow"))
        row = found.frame().loc["lost"]
        assert found.paired
        assert (row["difference"], row["low"], row["high"]) == (20, 20, 20)  # the same chance in both
        assert row["more than chance"]
        assert not found.frame().loc["drawn", "more than chance"]
        assert [*map(tuple, found.side_by_side().columns[:2])] == [("lost", "fast"), ("lost", "slow")]
        assert list(found.chart("lost").columns) == ["fast", "slow"]
        assert "fast and slow, in pairs" in repr(found)
        many = compare([123456.789, 0], [2 / 3, 0])
        assert [*repr(many).split()[-6:-3]] == ["61728", "0.3333", "-61728"]
        assert "<td>0.3333</td>" in many._repr_html_()
        assert "<table" in found._repr_html_()

    def test_frames_and_lists(self) -> None:
        a = pandas.DataFrame({"seed": [1, 2], "x": [1.0, 2.0]})
        assert compare(a, a.iloc[::-1]).paired
        assert compare(a, a.iloc[::-1]).frame().loc["x", "difference"] == 0
        assert not compare(a, a.assign(seed=[3, 4])).paired
        found = compare([1, 2, 3, 4, 5, 6], pandas.Series([11, 12, 13, 14, 15.0, 16]))
        assert not found.paired
        assert found.frame().loc["value", "more than chance"]
        assert not compare([1, 2], [11, 12]).frame().loc["value", "more than chance"]  # too few to say so

    def test_a_missing_value_leaves_out_its_pair(self) -> None:
        a = pandas.DataFrame({"seed": range(8), "x": [*range(7), math.nan]})
        b = a.assign(x=[math.nan, *range(2, 9)])
        assert compare(a, b).frame().loc["x", "difference"] == 1

    def test_runs(self) -> None:
        runs = []
        for share in (0, 0.5):
            with Lab(seed=7) as lab:
                product = lab.product("thermostat", resources={"temperature": "number"})
                if share:
                    lab.faults.add("POST /onep:v1/stack/alias", status=503, chance=share)
                runs.append(product.fleet(3, Thermostat(every=60)).run(minutes=30, every=300))
        found = compare(*runs, names=("calm", "rough"))
        frame = found.frame()
        assert cell(frame, "errors", "calm") == 0
        assert cell(frame, "errors", "difference") == cell(frame, "errors", "rough") > 0
        assert cell(frame, "requests", "calm") == runs[0].frame()["requests"].sum()
        assert len(found.side_by_side()) == 6
        found.chart("errors")
        with pytest.raises(LabError, match="one is a run, the other is none"):
            compare(runs[0], [1])

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ((3, 4), "expected runs, sweeps, frames or lists of numbers, not 3"),
            (([1], ["x"]), "expected runs, sweeps, frames or lists of numbers"),
            ((pandas.DataFrame({"x": [1]}), pandas.DataFrame({"y": [1]})), "no measure in common"),
        ],
    )
    def test_wrong_arguments(self, arguments: tuple[Any, Any], text: str) -> None:
        with pytest.raises(LabError, match=text):
            compare(*arguments)

    def test_wrong_names(self) -> None:
        with pytest.raises(LabError, match="names: expected two different names, not 'x' twice"):
            compare([1], [2], names=("x", "x"))
        with pytest.raises(LabError, match="names: expected two names, not 'ab'"):
            compare([1], [2], names="ab")
        with pytest.raises(LabError, match="compare: no measure 'y', there are: value"):
            compare([1], [2]).chart("y")


class TestBootstrap:
    def test_intervals_repeat_and_cover(self) -> None:
        generator = np.random.default_rng(1)
        samples = [generator.normal(5, 1, 30).tolist() for _ in range(60)]
        found = [mean_interval(each) for each in samples]
        assert found[0] == mean_interval(samples[0])
        assert found[0] != mean_interval(samples[0], seed=8)
        covered = sum(each.low < 5 < each.high for each in found)
        assert 50 <= covered <= 60  # about 95 % of 60
        wide, narrow = (mean_interval(samples[0], level=level) for level in (0.99, 0.5))
        assert wide.high - wide.low > narrow.high - narrow.low

    def test_few_and_no_values(self) -> None:
        assert mean_interval([1.0, 3.0]).mean == 2
        assert math.isnan(mean_interval([1.0] * 5).low)
        assert mean_interval([1.0] * 6) == Estimate(1, 1, 1)
        assert math.isnan(mean_interval([]).mean)
        assert not difference_interval([], [1.0], paired=False).is_more_than_chance

    def test_pairs_of_unequal_number(self) -> None:
        with pytest.raises(LabError, match="2 values cannot be paired with 1"):
            difference_interval([1, 2], [1], paired=True)
