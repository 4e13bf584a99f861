"""A lab with a solution that has a websocket, for one module of tests; each test gets it empty."""

import time
from collections.abc import Iterator

import pytest

from labkit import Lab
from labkit.lab.solution import Solution
from tests.guard import PATIENCE
from tests.websockets.rig import LUA, ids


@pytest.fixture(scope="module")
def module_lab() -> Iterator[Lab]:
    with Lab(seed=7) as lab:
        lab.solution("acme").route("WEBSOCKET", "/live", lua=LUA)
        yield lab


@pytest.fixture
def lab(module_lab: Lab) -> Lab:
    """The lab, once the ends of the last test's clients have arrived, whose events would be the next one's."""
    hang = time.monotonic() + PATIENCE
    while ids(module_lab.solution("acme")):
        assert time.monotonic() < hang
    module_lab.reset()
    return module_lab


@pytest.fixture
def acme(lab: Lab) -> Solution:
    return lab.solution("acme")
