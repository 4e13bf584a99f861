"""The fixture of Notify's tests (see environment.py)."""

from __future__ import annotations

import pytest

from tests.services.notify.environment import Environment


@pytest.fixture
def env() -> Environment:
    """Notify with two tenants, and a provider that knows nothing yet."""
    return Environment()
