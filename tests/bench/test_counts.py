"""Limits on the number of function calls per request, so that cost cannot creep in."""

from __future__ import annotations

import json
import sys
from functools import cache

import pytest

from labkit.bench import counts
from tests.rig import invoked

# Calls of Python and of C functions per request, by version of Python: the measured number, with 2 % to spare.
# A commit that raises a number for a reason (less CPU in spite of more calls) also raises its limit.
MEASURED = {
    "3.11": {
        "write": (73, 63),
        "read": (60, 34),
        "write-durable": (96, 73),
        "write-lua": (277, 227),
        "websocket": (145, 132),
        "simulated-write": (153, 101),
        "simulated-lua": (344, 275),
        # calls of C vary from 679 to 706 with the order in which two threads go on
        "empty-play": (1488, 700),
        "firmware-turn": (38, 30),
    },
}
SPARE = 1.02
REPEATED = pytest.mark.xdist_group("counts")  # so that one test repeats what the other has counted
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@cache
def counted(name: str) -> counts.CallCount:
    """Return the calls of a workload, counted once."""
    [found] = counts.measure([name], lambda text: None)
    return found


@pytest.mark.skipif(
    VERSION not in MEASURED, reason=f"calls were counted with Python {', '.join(MEASURED)} alone"
)
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=REPEATED if each == "read" else ()) for each in MEASURED["3.11"]]
)
def test_a_request_stays_below_its_limit_of_calls(name: str) -> None:
    found = counted(name)
    python, c = MEASURED[VERSION][name]
    assert 0.5 * python < found.python <= SPARE * python
    assert 0.5 * c < found.c <= SPARE * c


@REPEATED
def test_a_count_repeats() -> None:
    first, second = counted("read"), counted.__wrapped__("read")
    assert second.python == pytest.approx(first.python, rel=0.01)
    assert second.c == pytest.approx(first.c, rel=0.01)


def test_the_command_counts_and_refuses_unknown_names() -> None:
    answer = invoked("bench", "--calls", "bare-read", "--json")
    [found] = json.loads(answer.stdout)
    assert (found["name"], found["python"] > 20, found["c"] > 10) == ("bare-read", True, True)
    refused = invoked("bench", "--calls", "nonsense")
    assert "no workload 'nonsense' to count, there are: bare-write" in refused.output
