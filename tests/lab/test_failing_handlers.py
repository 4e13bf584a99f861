"""Handlers that fail: told once under the cell, or at the prompt, whose calls led to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from labkit import Lab, LabWarning
from labkit.lab import runtime
from tests.lab.story_parts import Reports, product_of

LUA = "local x\nreturn x.y"
ERROR = r"device_datapoint:2: attempt to index local 'x' \(a nil value\)$"


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have somebody look on."""
    monkeypatch.setattr(runtime, "is_watched", lambda: True)


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.fixture
def cell_lab(shell: InteractiveShell) -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        shell.user_ns |= {"lab": lab, "acme": lab.solution("acme", products=product_of(lab))}
        shell.user_ns |= {"device": product_of(lab).device("d").activate(), "Reports": Reports}
        lab.solution("acme").on("device", "datapoint", lua=LUA)
        yield lab


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("device.write(temperature=1)", f"device datapoint failed: {ERROR}"),
        ("for n in range(3): device.write(temperature=n)", f"datapoint failed 3 times, first: {ERROR}"),
        ("lab.product('thermostat').fleet(2, Reports).run(minutes=30)", "failed 60 times, first: "),
        ("with lab: device.write(temperature=1); lab.settle()", f"device datapoint failed: {ERROR}"),
        ("@acme.route('GET', '/a')\ndef a():\n    1 / 0\nacme.get('/a')", r"GET /a failed: Zero.* \(.*3\)$"),
    ],
)
def test_a_cell_tells_once_that_its_calls_made_a_handler_fail(
    shell: InteractiveShell, cell_lab: Lab, cell: str, told: str
) -> None:
    with pytest.warns(LabWarning, match=f"^solution 'acme', .*{told}") as seen:
        shell.run_cell(cell)
    assert len(seen) == 1
    shell.run_cell("lab.closed or lab.clock.now")


def test_a_prompt_tells_with_the_next_call(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.solution("acme", products=product_of(lab)).on("device", "datapoint", lua=LUA)
    device = product_of(lab).device("d").activate()
    device.write(temperature=1)
    lab.settle()  # in a script, and in a test, nobody is told
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with pytest.warns(LabWarning, match=ERROR):
        lab.settle()
    device.write(temperature=1)
    lab.settle()  # which repeats nothing
