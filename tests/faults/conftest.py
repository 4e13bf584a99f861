"""The lab of most tests of faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labkit import Lab


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        lab.product("thermostat", resources={"message": "string"})
        lab.solution("acme", products=["thermostat"])
        yield lab
