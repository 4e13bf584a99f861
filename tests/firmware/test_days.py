"""Nothing is lost of a program's life: without faults, each day has as many records as the others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from labkit import Lab
from tests.firmware.programs import PYTHON, device_in_c
from tests.sizes import size

DAYS = 7
HOURS = size(1, 24)  # of a day
START = 1_767_225_600  # lab time of a fresh lab


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("language", ["c", "python"])
def test_each_day_has_as_many_records(language: str, tmp_path: Path) -> None:
    command = device_in_c() if language == "c" else PYTHON
    period = size(600, 60)  # of a write and two polls
    with Lab(seed=7, journal={"records": 1_000_000}) as lab:
        lab.product("thermostat", resources={"temperature": "number", "message": "string"})
        lab.firmware([*command, "t-001", "10000000", tmp_path / "credentials", str(period)], identity="t-001")
        lab.clock.advance(hours=DAYS * HOURS)
        times = [each.time for each in lab.journal.select("request")]
    days = Counter((time // 1_000_000 - START) // (3600 * HOURS) for time in times)
    requests = 3 * 3600 * HOURS / period
    assert list(days)[:DAYS] == list(range(DAYS))
    assert all(abs(days[day] - requests) <= 1 for day in range(DAYS)), days
