"""Fixtures: one lab for all tests of the solution of the guides, in which each test creates its own people."""

from collections.abc import Iterator

import pytest

from labkit import Lab
from tests.solutions.guide.visitors import FOLDER, Guide, Person


@pytest.fixture(scope="package")
def guide() -> Iterator[Guide]:
    with Lab(seed=7, passwords={"memory": 8, "passes": 1}) as lab:
        guide = Guide(lab, lab.solution("guide", path=FOLDER))
        assert guide.solution.get("/_init").status_code == 200
        assert guide.solution.post("/_init/devices").status_code == 200
        yield guide


@pytest.fixture(scope="package")
def ann(guide: Guide) -> Person:
    """A person whom no test changes, since hashing a password takes time."""
    return guide.person()
