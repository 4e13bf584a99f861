"""The comparison of tests with checks: functions that run a mutant, and lines that the checks miss."""

from __future__ import annotations

import pytest

pytest.importorskip("cosmic_ray", reason="needs cosmic-ray: make .venv/.has-judge")

from tests.judge.front_door import Played
from tests.judge.lines import Lines
from tests.judge.mutations import mutations_of
from tests.judge.play_tests import SHARED, name_of

FORMS = "device_api/forms.py"


@pytest.mark.parametrize(("names", "running"), [({"one"}, ["one"]), (set(), []), ({SHARED}, ["one", "two"])])
def test_a_mutant_is_for_the_functions_that_run_its_line(names: set[str], running: list[str]) -> None:
    mutation = mutations_of(FORMS)[0]
    played = Played("test_a.py", ["one", "two"], {FORMS: {mutation.lines[0]: names}}, 0.1)
    assert played.running(mutation) == running


def test_lines_that_no_check_runs() -> None:
    played = Played("test_a.py", ["one"], {FORMS: {1: {"one"}, 2: {"one"}}, "core/a.py": {3: {"one"}}}, 0.1)
    lines = Lines({}, [], {FORMS: {"1": ["check"], "2": []}})
    assert [*played.alone(lines)] == [(FORMS, 2, {"one"}), ("core/a.py", 3, {"one"})]


@pytest.mark.parametrize("nodeid", ["tests/test_a.py::TestB::test_c[d::e]", "tests/test_a.py::TestB::test_c"])
def test_a_function_has_one_name_for_all_of_its_parameters(nodeid: str) -> None:
    assert name_of(nodeid) == "TestB::test_c"
