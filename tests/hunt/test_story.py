"""Stories as functions: plays, and the values that they draw."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, strategies

from labkit import Behaviour, DeviceError, Lab, LabError
from labkit.edge.protocol import EdgeProtocol
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.transport import Transport
from labkit.hunt import Draw, Story, play, story
from tests.hunt import stories
from tests.lab.story_parts import Reports, product_of
from tests.replays import busy_process
from tests.sizes import size

ROOT = Path(__file__).parents[2]


@pytest.mark.sampled
@pytest.mark.timeout(300)
@pytest.mark.parametrize("told", stories.STORIES, ids=lambda told: told.name)
def test_plays_of_a_seed_are_equal(told: Story) -> None:
    """Journal, result and drawn values, for several seeds; another seed is another future."""
    found = [[play(told, seed) for _ in range(size(2, 20))] for seed in range(size(2, 3))]
    for plays in found:
        assert all(each == plays[0] for each in plays)
    assert found[0][0].journal != found[1][0].journal


@pytest.mark.sampled
@pytest.mark.timeout(300)
def test_plays_in_another_process_are_equal() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.hunt.stories"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        here = stories.digests()
        elsewhere, _ = process.communicate()
    assert (json.loads(elsewhere), process.returncode) == (here, 0)


def put_off_reads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Put off a third of the reads of devices and of the platform by up to 4 ms. Returns what was put off."""
    late: list[object] = []
    rng = random.Random()  # other reads in each play

    def put_off(of: type[Any], name: str) -> None:
        read = getattr(of, name)
        waiting: dict[object, list[tuple[Any, ...]]] = {}  # reads by connection, in their order

        def go_on(self: Any) -> None:
            for args in waiting.pop(self):
                read(self, *args)

        def maybe_later(self: Any, *args: Any) -> None:
            if self in waiting:
                if args:
                    waiting[self].append(args)
            elif rng.random() < 0.3:
                late.append(self)
                waiting[self] = [args]
                asyncio.get_running_loop().call_later(rng.uniform(0, 0.004), go_on, self)
            else:
                read(self, *args)

        monkeypatch.setattr(of, name, maybe_later)

    put_off(Transport, "_readable")
    put_off(EdgeProtocol, "data_received")
    return late


@pytest.mark.sampled
@pytest.mark.timeout(300)
@pytest.mark.parametrize("told", stories.STORIES, ids=lambda told: told.name)
def test_plays_beside_a_busy_process_with_late_reads_are_equal(
    told: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = play(told, 3)
    late = put_off_reads(monkeypatch)
    with busy_process():
        again = [play(told, 3) for _ in range(size(1, 10))]
    assert all(each == first for each in again)
    assert late


def test_a_story_waits_draws_and_returns() -> None:
    @story
    def waits(lab: Lab, draw: Draw) -> float:
        """Docstring of the story."""
        device = lab.product("thermostat", resources={"a": "string"}).device("d").activate()
        assert device.poll("a", timeout=draw.seconds(5, 10, label="timeout")) is None
        lab.wait(seconds=draw.number(1, 3))
        return lab.clock.time

    assert (waits.name, waits.__doc__) == ("waits", "Docstring of the story.")
    played = play(waits, 7)
    (_, timeout), (label, pause) = played.drawn
    assert played.drawn[0][0] == "timeout"
    assert (timeout in (5, 10), pause in (1, 2, 3), label, played.error) == (True, True, None, None)
    assert isinstance(played.result, float)
    assert played.journal.count("\n") >= 2


def test_short_forms_stay_within_their_bounds() -> None:
    drawn: dict[str, list[Any]] = {
        "whole": [],
        "float": [],
        "choice": [],
        "seconds": [],
        "chance": [],
        "text": [],
    }

    @story
    def draws(lab: Lab, draw: Draw) -> None:
        for _ in range(200):
            drawn["whole"].append(draw.number(3, 5))
            drawn["float"].append(draw.number(0.5, 1))
            drawn["choice"].append(draw.choice("ab"))
            drawn["seconds"].append(draw.seconds())
            drawn["chance"].append(draw.chance(0.25))
            drawn["text"].append(draw(strategies.text(max_size=3)))
        assert not draw.chance(0)
        assert draw.chance(1)

    play(draws, 1)
    assert set(drawn["whole"]) == {3, 4, 5}
    assert all(0.5 <= each <= 1 for each in drawn["float"])
    assert set(drawn["choice"]) == {"a", "b"}
    assert set(drawn["seconds"]) == {0.000001, 1, 30, 600}
    assert 20 < sum(drawn["chance"]) < 80
    assert len(set(drawn["text"])) > 50


def test_behaviours_handlers_and_functions_for_later_draw() -> None:
    @story
    def draws(lab: Lab, draw: Draw) -> list[object]:
        class Waits(Behaviour):
            """Behaviour that draws its interval."""

            async def run(self, device: FleetDevice) -> None:
                while True:
                    await device.write(a=draw.number(1, 1000, label="written"))
                    await device.sleep(draw.seconds(10, 20, 30))

        product = lab.product("thermostat", resources={"a": "number"})
        solution = lab.solution("app", products=[product])
        solution.on("device", "datapoint", lambda data: draw.number(1, 1000, label="handled"))
        lab.at(15, lambda: draw.choice(["x", "y"], label="later"))
        run = product.fleet(3, Waits).run(minutes=2)
        assert not run.failed
        return [label for label, _ in draw.values]

    first, second = play(draws, 5), play(draws, 5)
    assert first == second
    assert isinstance(first.result, list)
    assert {"written", "handled", "later", None} == set(first.result)


def test_the_error_of_a_story_names_its_seed() -> None:
    @story
    def fails(lab: Lab, draw: Draw) -> None:
        draw.number(0, 9, label="digit")
        lab.product("thermostat", resources={"a": "string"}).device("d").write(a="x")

    with pytest.raises(DeviceError, match="401") as raised:
        play(fails, 12)
    assert raised.value.__notes__[-1] == "play(fails, seed=12) repeats this"
    played = play(fails, 12, check=False)
    assert isinstance(played.error, DeviceError)
    assert played.drawn[0][0] == "digit"
    assert '"status": 401' in played.journal


def test_an_error_of_a_function_for_later_is_that_of_the_play() -> None:
    @story
    def fails(lab: Lab, draw: Draw) -> None:
        lab.at(10, lambda: [][draw.number(0, 3)])
        lab.wait(seconds=30)

    with pytest.raises(IndexError):
        play(fails, 1)


def test_settings_of_the_lab() -> None:
    @story(domain="example.org")
    def domain(lab: Lab, draw: Draw) -> str:
        return lab.solution("app").domain

    assert play(domain, 1).result == "app.apps.example.org"


def test_parameters_of_a_story() -> None:
    @story
    def outage(lab: Lab, draw: Draw, *, retries: int = 3, policy: object = None) -> object:
        if retries == 13:
            raise ValueError("unlucky")
        return retries, policy, draw.number(0, 10**6)

    assert outage.parameters == {"retries": 3, "policy": None}
    plain, changed = play(outage, 1).result, play(outage, 1, parameters={"policy": "é'"}).result
    assert isinstance(plain, tuple)
    assert changed == (3, "é'", plain[2])  # parameters change nothing that the seed draws
    with pytest.raises(ValueError, match="unlucky") as raised:
        play(outage, 1, parameters={"retries": 13})
    assert raised.value.__notes__[-1] == "play(outage, seed=1, parameters={'retries': 13}) repeats this"
    with pytest.raises(LabError, match=r"outage: no parameter 'retrys', there are: retries, policy; did you"):
        play(outage, 1, parameters={"retrys": 1})


def test_a_parameter_without_a_default_is_refused() -> None:
    with pytest.raises(LabError, match="asks: parameter 'retries' has no default; expected"):

        @story
        def asks(lab: Lab, draw: Draw, *, retries: int) -> None: ...


def test_what_is_no_story_or_draw_is_refused() -> None:
    @story
    def discards(lab: Lab, draw: Draw) -> None:
        assume(draw.number(0, 9) > 9)

    with pytest.raises(LabError, match="the values of seed 1 are no future of this story"):
        play(discards, 1)
    with pytest.raises(LabError, match="expected a function with @story, not 3"):
        play(3, 1)  # type: ignore[arg-type]
    with pytest.raises(LabError, match="seed: expected a whole number, not 'x'"):
        play(discards, "x")  # type: ignore[arg-type]
    with pytest.raises(LabError, match="story: expected a function of a lab and a draw, not 3"):
        story(3)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("number", (5, 3), "low is 5, which is above high, 3"),
        ("number", ("a", 3), "number: low: expected a number, not 'a'"),
        ("choice", ([],), r"choice: expected a list of options, not \[\]"),
        ("choice", (3,), "choice: expected a list of options, not 3"),
        ("seconds", (-1,), "expected times of 0 or more seconds, not -1"),
        ("chance", (1.5,), "expected a share from 0 to 1, not 1.5"),
    ],
)
def test_wrong_arguments_of_short_forms(name: str, arguments: tuple[Any, ...], text: str) -> None:
    draw = Draw(lambda strategy, label=None: 1)
    with pytest.raises(LabError, match=text):
        getattr(draw, name)(*arguments)
    assert (draw.values, str(draw)) == ([], "nothing")


def test_a_story_drains_while_its_fleets_go_on() -> None:
    @story
    def drains(lab: Lab, draw: Draw) -> tuple[float, int]:
        product = product_of(lab)
        app = lab.solution("app", products=[product])
        app.on("device", "datapoint", lambda services: services.Keystore.command(key="n", command="incr"))
        lab.faults.add("device datapoint", late=50, first=1)
        run = product.fleet(1, Reports).start(minutes=5)
        lab.wait(seconds=20)
        drained = lab.drain()
        run.wait()
        return drained.seconds, int(str(app.Keystore.get(key="n")["value"]))

    found = play(drains, 1).result
    assert isinstance(found, tuple)
    assert 0 < found[0] <= 50
    assert found[1] > 1
