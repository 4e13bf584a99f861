"""Lifetime of the service parameters that scripts set."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab

FIRST = {"operations": [{"name": "on", "script": "return 'first'"}]}
SECOND = {
    "operations": [{"name": "on", "script": "return 'second'"}, {"name": "off", "script": "return 'off'"}]
}


def open_lab(path: Path, definition: dict[str, Any] | None = FIRST) -> Lab:
    lab = Lab(seed=3, data=str(path / "lab.db"))
    services = {"Interface": definition} if definition else {}
    lab.solution("lights", services=services)
    lab.solution(
        "home", subscriptions=[{"publisher": "lights", "script_key": "lights"}] if definition else []
    )
    return lab


def set_by_a_script(lab: Lab, definition: dict[str, Any]) -> None:
    given = {"service": "Interface", "parameters": definition}
    answer = lab.solution("lights").call("Config", "setParameters", given)
    assert "error" not in answer, answer


def on(lab: Lab) -> Any:
    return lab.solution("home").call("Lights", "on", {})


def test_they_survive_a_restart_and_override_the_settings(tmp_path: Path) -> None:
    with open_lab(tmp_path) as lab:
        assert on(lab) == "first"
        set_by_a_script(lab, SECOND)
        assert on(lab) == "second"
    for _ in range(2):
        with open_lab(tmp_path) as lab:
            assert on(lab) == "second"
            assert lab.solution("home").call("Lights", "off", {}) == "off"


def test_they_survive_a_power_cut(tmp_path: Path) -> None:
    with open_lab(tmp_path) as lab:
        set_by_a_script(lab, SECOND)
        lab.restart()
        assert on(lab) == "second"


def test_parameters_of_a_solution_without_settings_survive(tmp_path: Path) -> None:
    with open_lab(tmp_path, None) as lab:
        set_by_a_script(lab, SECOND)
    with open_lab(tmp_path, None) as lab:
        lights = lab.solution("lights").Config.getParameters(service="Interface")["parameters"]
        assert [each["name"] for each in lights["operations"]] == ["on", "off"]
        assert lab.solution("home").Config.getParameters(service="Interface")["parameters"] == {}


@pytest.mark.parametrize("how", ["reset", "reload", "configure"])
def test_changed_settings_and_a_reset_remove_them(tmp_path: Path, how: str) -> None:
    with open_lab(tmp_path) as lab:
        set_by_a_script(lab, SECOND)
        assert on(lab) == "second"
        if how == "reset":
            lab.reset()
        elif how == "reload":
            lab.solution("lights").reload()
        else:
            lab.solution("lights").publish(operations=FIRST["operations"])
        assert on(lab) == "first"
    with open_lab(tmp_path) as lab:
        assert on(lab) == "first"


def test_parameters_that_changed_settings_make_invalid_are_a_warning(tmp_path: Path) -> None:
    def comment(length: int) -> str:
        return "-- " + "x" * length

    with open_lab(tmp_path) as lab:
        set_by_a_script(lab, {"operations": [{"name": "on", "script": comment(30_000)}]})
    long = {
        "events": [{"name": "changed", "default_script": comment(1_030_000)}]
    }  # together they are too long
    for _ in range(2):
        with pytest.warns(UserWarning, match="is forgotten") if not _ else nullcontext():
            lab = open_lab(tmp_path, {**FIRST, **long})
        with lab:
            assert on(lab) == "first"
