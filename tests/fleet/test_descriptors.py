"""The limit of open files of the process, for fleets in a process of their own."""

from __future__ import annotations

import sys

import pytest

from tests.rig import ran

PROGRAM = """
import resource, sys
from labkit import Lab
from labkit.fleet.behaviours import Thermostat
from labkit.core.errors import LabError

count, hard, speed = map(int, sys.argv[1:])
with Lab(seed=7, speed=speed) as lab:
    fleet = lab.product("thermostat", resources={"temperature": "number"}).fleet(count, Thermostat(every=1))
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 150), hard))
    try:
        run = fleet.run(seconds=1.5)
    except LabError as error:
        print(error)
    else:
        print(sum(run.frame()["requests"]) >= count, resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 150)
"""


@pytest.mark.sampled
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("100", "250", "1"), "100 live devices need"),
        (("40", "4000", "1"), "True True"),
        (("100", "250", "0"), "True True"),
    ],
    ids=["refused", "raised", "simulated"],
)
def test_both_ends_of_a_connection_count(arguments: tuple[str, ...], expected: str) -> None:
    output = ran(sys.executable, "-c", PROGRAM, *arguments, check=True).stdout
    assert output.startswith(expected)
    if expected.startswith("100"):
        assert "two for each connection" in output
        assert "may have 250: raise the limit (ulimit -n " in output
