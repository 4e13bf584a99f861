"""Fixture of Notify's tests (see environment.py)."""

from __future__ import annotations

import pytest

from tests.services.notify.environment import Environment


@pytest.fixture
def env() -> Environment:
    """The Notify service with two tenants, and a provider without answers yet."""
    return Environment()
