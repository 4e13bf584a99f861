"""The stage of the User service's tests (see place.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.services.user.place import Place


@pytest.fixture
def place() -> Iterator[Place]:
    """The User service on a virtual clock, with nothing in it."""
    place = Place()
    yield place
    place.close()
