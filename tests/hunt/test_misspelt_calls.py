"""Hunts of stories whose handlers misspell a call, which then does nothing: the result says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labkit import Lab, LabWarning
from labkit.hunt import Draw, hunt, no_script_failed, nothing_lost, play, replay, story, sweep
from tests.lab.story_parts import RESOURCES, Reports

PLAIN: dict[str, Any] = {"level": "calm", "shrink": 0, "progress": False}
HINTS = {
    "Keystor.set": "there is no service 'Keystor'; did you mean Keystore?",
    "Keystore.sett": "Keystore has no operation 'sett'; did you mean set?",
    "Keystore.set": "ky is not a parameter of set; did you mean key?",
}
CALL = "{ky = 'n', value = '1'}"


def sentence(call: str, solution: str = "shop") -> str:
    return f"solution {solution!r}, device datapoint: {call}: {HINTS[call]}"


@story(promises=[nothing_lost(), no_script_failed()])
def shop(lab: Lab, draw: Draw, *, call: str = "Keystor.set", given: str = CALL) -> int:
    """Handle what devices of two products write in two solutions, of which the second one is right."""
    products = [lab.product(name, resources=RESOURCES) for name in ("thermostat", "lamp")]
    for name, lua in (("shop", f"{call}{given}"), ("other", "Keystore.set{key = 'n', value = '1'}")):
        lab.solution(name, products=products).on("device", "datapoint", lua=lua)
    for each in products:
        each.fleet(2, Reports).run(minutes=draw.number(1, 2))
    return 1


@story
def breaks(lab: Lab, draw: Draw) -> None:
    """Break since the handler stores nothing."""
    app = lab.solution("shop", products=[lab.product("thermostat", resources=RESOURCES)])
    app.on("device", "datapoint", lambda services: services.Keystore.sett(key="n", value="1"))
    lab.product("thermostat").device("é 1").activate().write(temperature=20)
    lab.drain()
    assert app.Keystore.get(key="n").get("value") == "1", "nothing is stored"


@pytest.mark.parametrize("call", HINTS)
def test_a_hunt_tells_it(call: str) -> None:
    found = hunt(shop, 3, workers=0, parameters={"call": call}, **PLAIN)
    assert found.good
    assert found.warnings == {sentence(call): 3}
    text = found.text()
    assert f"warning: {sentence(call)} (in 3 plays)" in text
    assert text.endswith("\nnothing broke, but see the warning")
    assert json.loads(json.dumps(found.as_dict()))["warnings"] == {sentence(call): 3}
    assert list(found.frame()["warnings"]) == [1, 1, 1]
    assert "did you mean" in found._repr_html_()


def test_a_hunt_without_mistakes_has_no_warnings() -> None:
    right = {"call": "Keystore.set", "given": "{key = 'n', value = '1'}"}
    found = hunt(shop, 2, workers=0, parameters=right, **PLAIN)
    assert (found.warnings, found.as_dict()["warnings"]) == ({}, {})
    assert found.text().endswith("\nnothing broke")
    assert list(found.frame()["warnings"]) == [0, 0]


@pytest.mark.sampled
@pytest.mark.timeout(300)
def test_workers_send_the_warnings_of_their_plays() -> None:
    here, there = (hunt(shop, 4, workers=count, **PLAIN) for count in (0, 2))
    assert here.warnings == there.warnings == {sentence("Keystor.set"): 4}


def test_a_play_has_its_warnings_and_warns_once() -> None:
    with pytest.warns(LabWarning) as caught:
        played = play(shop, 1)
    assert played.warnings == (sentence("Keystor.set"),)
    assert [str(each.message) for each in caught] == [*played.warnings]
    assert caught[0].filename == __file__
    with pytest.warns(LabWarning):
        assert play(shop, 1) == played


def test_the_error_of_a_play_names_them() -> None:
    with pytest.raises(AssertionError) as raised:
        play(breaks, 1)
    assert f"warning: {sentence('Keystore.sett')}" in raised.value.__notes__
    found = hunt(breaks, 3, workers=0, **PLAIN)
    assert found.warnings == {sentence("Keystore.sett"): 1}
    assert f"warning: {sentence('Keystore.sett')} (in 1 play)" in found.text()


def test_a_replay_has_the_warnings_of_its_play() -> None:
    failure = hunt(breaks, 3, workers=0, **PLAIN).failures["the story's own checks"]
    with pytest.warns(LabWarning, match="did you mean set"):
        again = replay(failure.written(), story=breaks, check=False)
    assert again.as_dict()["warnings"] == [sentence("Keystore.sett")]


def test_a_sweep_warns_once_for_all_plays() -> None:
    with pytest.warns(LabWarning) as caught:
        swept = sweep(shop, 2, workers=0, call=["Keystore.sett", "Keystore.set"])
    assert len(swept) == 4
    assert [str(each.message) for each in caught] == [
        f"{sentence(call)} (in 2 of 4 plays)" for call in ("Keystore.sett", "Keystore.set")
    ]


def test_a_play_is_shown_in_a_line() -> None:
    with pytest.warns(LabWarning):
        played = play(shop, 7)
    records = played.journal.count("\n")
    assert repr(played) == (
        f"<play of seed 7: {records} records, no faults, 2 drawn values, {played.seconds:g} s of lab time, "
        "2 promises kept, 1 warning>"
    )
    with pytest.warns(LabWarning):
        failed = play(breaks, 7, check=False)
    assert repr(failed).endswith("s of lab time, 1 warning, AssertionError>")


def test_a_story_in_a_cell_warns_after_it(recwarn: pytest.WarningsRecorder) -> None:
    with Lab(seed=7) as lab:
        app = lab.solution("shop", products=[lab.product("thermostat", resources=RESOURCES)])
        app.on("device", "datapoint", lua="Keystor.set{}")
        with lab.story():
            lab.product("thermostat").device("d").activate().write(temperature=20)
            lab.wait(seconds=1)
            assert not recwarn.list
        lab.settle()
    assert [str(each.message) for each in recwarn.list] == [sentence("Keystor.set")]
