"""A lab with a solution that has a websocket, for one module of tests; each test gets it empty."""

from collections.abc import Iterator

import pytest

from labkit import Lab
from labkit.lab.solution import Solution
from tests.websockets.rig import LUA


@pytest.fixture(scope="module")
def module_lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        lab.solution("acme").route("WEBSOCKET", "/live", lua=LUA)
        yield lab


@pytest.fixture
def lab(module_lab: Lab) -> Lab:
    module_lab.reset()
    return module_lab


@pytest.fixture
def acme(lab: Lab) -> Solution:
    return lab.solution("acme")
