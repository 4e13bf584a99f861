"""Problems among the records of a failing test's lab."""

from __future__ import annotations

import httpx
import pytest

from labkit import Lab
from labkit.core.record_lines import is_problem, record_line
from labkit.testing.failure import _failed

ALIAS = "/onep:v1/stack/alias"


def test_refused_calls_cuts_and_ignored_values_are_problems() -> None:
    with Lab(seed=7) as lab:
        product = lab.product("thermostat", resources={"message": "string"})
        lab.solution("acme", products=[product]).on("device", "datapoint", lua="User.getUser{id = 9}")
        device = product.device("t-1").activate()
        device.request("POST", ALIAS, data={"mesage": "a"})
        device.write(message="a")
        lab.settle()
        for cut in ("before", "after", "inside"):
            lab.faults.add(f"GET {ALIAS}", cut=cut, first=1)
            with pytest.raises(httpx.TransportError):
                device.read("message")
        records = lab.journal.select()
        lines = [record_line(each) for each in records if is_problem(each) or _failed(each)]
        logged = [record_line(each) for each in records if is_problem(each)]
    assert lines[0] == (
        f"204 thermostat/t-1 POST {ALIAS}: ignored, since the product has no resource 'mesage'; did you mean message?"
    )
    assert lines[1].startswith("call 4")
    assert lines[2:] == [
        f"thermostat/t-1 GET {ALIAS}: fault 1: cut before",
        f"thermostat/t-1 GET {ALIAS}: fault 2: cut after",
        f"200 thermostat/t-1 GET {ALIAS}: fault 3: cut inside",
    ]
    assert logged == lines[:1]
