"""Labs of the tests of programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labkit import Lab
from labkit.lab.product import Product


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as made:
        yield made


@pytest.fixture
def thermostat(lab: Lab) -> Product:
    return lab.product("thermostat", resources={"temperature": "number", "message": "string"})
