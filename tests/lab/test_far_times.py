"""Bounds of lab time: moves beyond them are refused before anything changes, and all views work up to the end."""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from labkit import Lab, LabError
from labkit.labtime.clock import LATEST, VIRTUAL_START

MOVES: list[Callable[[Lab], Any]] = [
    lambda lab: lab.clock.advance(1e12),
    lambda lab: lab.clock.advance(-1),
    lambda lab: lab.clock.advance(math.nan),
    lambda lab: lab.clock.advance(days=math.inf),
    lambda lab: lab.clock.advance(days=1e305),
    lambda lab: lab.clock.advance(10**400),
    lambda lab: lab.clock.advance_to(1e12),
    lambda lab: lab.clock.advance_to(-5),
    lambda lab: lab.clock.advance_to("9999-12-31"),
    lambda lab: lab.clock.advance_to(datetime(9999, 12, 31, tzinfo=UTC)),
    lambda lab: lab.clock.run(math.inf),
    lambda lab: lab.clock.run(10**400),
    lambda lab: lab.product("meter").fleet(1).run(days=1e9),
    lambda lab: lab.product("meter").fleet(1).run(seconds=1e300),
]


def test_a_move_beyond_the_end_of_time_is_refused_without_a_change(lab: Lab) -> None:
    for number, move in enumerate(MOVES):
        with pytest.raises(LabError) as error:
            move(lab)
        assert "\n" not in str(error.value), number
        assert lab.clock.time == VIRTUAL_START, (number, error.value)
    assert "2026-01-01" in repr(lab.clock)


@pytest.mark.parametrize("start", [1e12, -1, math.nan, "9999-12-31"])
def test_a_lab_cannot_start_beyond_it(start: Any) -> None:
    with pytest.raises(LabError):
        Lab(seed=1, start=start)


def test_all_views_work_at_the_end_of_time(lab: Lab) -> None:
    meter = lab.product("meter", resources={"level": "number"})
    solution = lab.solution("acme", products=[meter])
    script = "Keystore.command{key = 'k', command = 'setex', args = {'9999999999', 'x'}} print('far')"
    solution.on("device", "datapoint", lua=script)
    lab.clock.advance_to(LATEST - 100)
    device = meter.device("m-1").activate()
    device.write(level=1)
    meter.content.add("a.txt", b"x", "text/plain")
    assert solution.call("User", "createUser", {"email": "a@b.de", "name": "A", "password": "correct horse"})
    assert solution.call("Keystore", "command", {"key": "k", "command": "expire", "args": ["9000000000"]})
    lab.clock.advance(100)
    assert device.read("level") == {"level": "1"}
    assert lab.clock.now == datetime(9999, 1, 1, tzinfo=UTC)
    shown: list[object] = [
        repr(lab),
        repr(lab.clock),
        lab.journal.frame(),
        solution.logs,
        meter.content.frame(),
    ]
    shown += [meter.devices(), lab.mailbox, lab.handsets, lab.sql("select * from datapoint")]
    assert "far" in "".join(map(str, shown))
    with pytest.raises(LabError, match="lab time ends at 9999-01-01T00:00:00Z"):
        lab.clock.advance(1)
