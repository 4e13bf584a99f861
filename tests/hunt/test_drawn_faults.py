"""Faults that plays are given: which are refused, and when they end."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Lab, LabError
from labkit.hunt import Draw, Promise, Verdict, play, story
from labkit.hunt.kinds import KINDS
from labkit.hunt.promises.promise import StoryEnd, Watch
from tests.hunt import stories
from tests.lab.story_parts import Reports, product_of


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        ("request lots", {}, "no kind of fault 'request lots'.*did you mean request lost"),
        ("request lost", {"where": "POST /x", "cut": "never"}, "request lost: cut: expected"),
        ("cut off", {"second": 3}, "cut off: .*second"),
        ("cut off", {"seconds": -3}, "cut off: seconds: expected 0 to"),
        ("restart", {"in": 3}, "restart: no setting of a restart 'in'"),
        ("restart", {"after": "x"}, "after: expected seconds, 0 or more, not 'x'"),
        ("overlap", {"calls": -1}, "overlap: calls: "),
    ],
)
def test_wrong_faults_are_refused_before_the_play(kind: str, given: dict[str, Any], text: str) -> None:
    with pytest.raises(LabError, match=text):
        play(stories.counter, 1, faults=[(kind, given)])


def test_faults_end_when_the_last_of_those_that_hit_is_over() -> None:
    ends: list[float | None] = []

    class Sees(Promise):
        """Promise that notes when the faults were over."""

        name = "seen"
        under = KINDS

        def watch(self, lab: Lab) -> Watch:
            began = lab.clock.time

            class Seen:
                """Watch that notes."""

                def verdict(self, end: StoryEnd) -> Verdict:
                    ends.append(None if end.quiet_since is None else end.quiet_since - began)
                    return Verdict("seen", "kept")

            return Seen()

    @story(promises=[Sees()])
    def writes(lab: Lab, draw: Draw) -> None:
        lab.wait(seconds=10)
        product = product_of(lab)
        app = lab.solution("app", products=[product])
        app.on("device", "datapoint", lambda services: services.Keystore.command(key="n", command="incr"))
        product.fleet(2, Reports).start(minutes=10).wait()

    def end(*faults: tuple[str, dict[str, Any]]) -> float | None:
        played = play(writes, 1, faults=faults, check=False)
        assert played.error is None
        return ends.pop()

    write = {"where": "POST /onep:v1/stack/alias", "product": "thermostat"}
    assert end() is None
    assert end(("request lost", {**write, "identity": "nobody", "cut": "before"})) is None
    assert end(("request lost", {**write, "cut": "before", "after": 100.0, "seconds": 100.0})) == 200
    assert end(("request lost", {**write, "cut": "before", "after": 100.0, "first": 1})) == 130
    assert end(("request delay", {**write, "delay": 20.0, "first": 1})) == 30
    assert end(("request error", {**write, "status": 503})) == 610
    assert (
        end(("event late", {"where": "device datapoint", "late": 600.0, "after": 500.0, "first": 1})) == 1150
    )
    assert end(("restart", {"after": 100.0, "down": 30.0})) == 130
    assert end(("cut off", {"products": "thermostat", "after": 100.0, "seconds": 60.0})) == 160
    assert end(("late start", {"seconds": 60.0}), ("wrong clock", {"after": 30.0, "seconds": 600.0})) == 70


def test_a_story_may_remove_the_faults_of_its_play() -> None:
    @story
    def clears(lab: Lab, draw: Draw) -> None:
        lab.wait(seconds=10)
        lab.faults.clear()
        lab.device_faults.clear()

    played = play(clears, 1, faults=[("request lost", {"where": "GET /x", "cut": "before"}), ("cut off", {})])
    assert (played.hits, played.error) == ((0, 0), None)
