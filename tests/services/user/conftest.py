"""Fixture of the User service's tests (see environment.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.services.user.environment import Environment


@pytest.fixture
def env() -> Iterator[Environment]:
    """The User service on a virtual clock, without users."""
    env = Environment()
    yield env
    env.close()
