"""Function calls a request stay below their ceilings, so that cost cannot creep in."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from labkit.bench import counts
from labkit.cli import main

# Calls of Python and of C functions a request, by version of Python: what was reached, and two in a hundred more.
# Whoever raises a count for a reason (less CPU in spite of more calls) raises its ceiling in the same commit.
REACHED = {
    "3.11": {
        "write": (129, 93),
        "read": (95, 63),
        "write-durable": (145, 102),
        "write-lua": (373, 386),
        "simulated-write": (213, 129),
        "simulated-lua": (447, 419),
    },
}
SPARE = 1.02
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.skipif(
    VERSION not in REACHED, reason=f"calls were counted with Python {', '.join(REACHED)} alone"
)
@pytest.mark.parametrize("name", REACHED["3.11"])
def test_a_request_takes_no_more_calls_than_before(name: str) -> None:
    [found] = counts.measure([name], lambda text: None)
    python, c = REACHED[VERSION][name]
    assert 0.5 * python < found.python <= SPARE * python
    assert 0.5 * c < found.c <= SPARE * c


def test_a_count_repeats() -> None:
    first, second = (counts.measure(["read"], lambda text: None)[0] for _ in range(2))
    assert second.python == pytest.approx(first.python, rel=0.01)
    assert second.c == pytest.approx(first.c, rel=0.01)


def test_the_verb_counts_and_refuses_unknown_works() -> None:
    answer = CliRunner().invoke(main, ["bench", "--calls", "bare-read", "--json"])
    [found] = json.loads(answer.stdout)
    assert (found["name"], found["python"] > 20, found["c"] > 10) == ("bare-read", True, True)
    refused = CliRunner().invoke(main, ["bench", "--calls", "nonsense"])
    assert "no workload 'nonsense' to count, there are: bare-write" in refused.output
