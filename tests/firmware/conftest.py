"""Labs of the tests of programs."""

from __future__ import annotations

import pytest

from labkit import Lab
from labkit.lab.product import Product


@pytest.fixture
def thermostat(lab: Lab) -> Product:
    return lab.product("thermostat", resources={"temperature": "number", "message": "string"})
