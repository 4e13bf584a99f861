"""Given faults at places that the lab of a story never has: an error that says what was meant."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Lab, LabError
from labkit.hunt import Draw, always, play, story
from tests.lab.story_parts import RESOURCES, Reports


def is_calm(lab: Lab) -> bool:
    return False


@story
def counts(lab: Lab, draw: Draw) -> int:
    """Two products whose devices have equal names, and a solution that counts what one of them writes."""
    products = [lab.product(name, resources=RESOURCES) for name in ("thermostat", "lamp-2")]
    app = lab.solution("app", products=products[:1])
    app.on("device", "datapoint", lambda services: services.Keystore.command(key="n", command="incr"))
    for each in products:
        each.fleet(1, Reports, prefix="d-").run(minutes=1)
    return 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            ("event late", {"where": "device datapoin", "late": 1}),
            r"^play: fault 1, event late: no event of device 'datapoin', there are: .*; did you mean datapoint\?$",
        ),
        (("event late", {"where": "devise datapoint", "late": 1}), r"'devise', .*; did you mean device"),
        (
            ("call error", {"where": "Keystor.set", "status": 503}),
            r"call error: no service 'Keystor', .*; did you mean Keystore\?",
        ),
        (
            ("call error", {"where": "Keystore.sett", "status": 503}),
            r"no operation of Keystore 'sett', .*; did you mean set\?",
        ),
        (
            ("call error", {"where": "Keystore.command", "solution": "ap", "status": 503}),
            r"no solution 'ap', there are: app; did you mean app\?",
        ),
        (
            ("request delay", {"where": "POST /onep:v1/stack/alias", "product": "termostat", "delay": 1}),
            r"no product 'termostat', .*; did you mean thermostat\?",
        ),
        (
            ("request delay", {"where": "POST /onep:v1/stack/alia", "delay": 1}),
            r"no request has the path '/onep:v1/stack/alia'; did you mean /onep:v1/stack/alias\?",
        ),
    ],
)
def test_a_place_that_is_not_there_is_refused(fault: tuple[str, dict[str, Any]], message: str) -> None:
    with pytest.raises(LabError, match=message):
        play(counts, 1, faults=[fault])
    right = ("event doubled", {"where": "device datapoint", "first": 1, "doubled": True})
    with pytest.raises(LabError, match=message.replace("fault 1", "fault 2")):
        play(counts, 1, faults=[right, fault])
    played = play(counts, 1, faults=[right, fault], check=False)
    assert (played.absent[0], played.hits) == ("", (1, 0))
    assert "did you mean" in played.absent[1]


def test_places_that_are_there_are_accepted_also_if_nothing_is_hit() -> None:
    faults: list[Any] = [
        ("event late", {"where": "device datapoint", "late": 1, "after": 86400}),
        ("call error", {"where": "Keystore.*", "status": 503, "solution": "app", "after": 86400}),
        ("call error", {"where": "User.listUsers", "status": 503}),
        ("request delay", {"where": "* /onep:v1/*", "product": "lamp-2", "delay": 0.1}),
    ]
    played = play(counts, 1, faults=faults)
    assert played.hits[:3] == (0, 0, 0)
    assert played.hits[3] > 0


def test_the_error_of_a_broken_play_notes_it() -> None:
    told = story(promises=[always(is_calm)])(counts.function)
    with pytest.raises(LabError, match="the promise 'always is_calm' is broken") as raised:
        play(told, 1, faults=[("event late", {"where": "device datapoin", "late": 1})])
    assert any("did you mean datapoint?" in each for each in raised.value.__notes__)
