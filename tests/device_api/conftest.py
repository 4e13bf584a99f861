from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.device_api import place as places


@pytest.fixture
async def place() -> AsyncIterator[places.Place]:
    """A lab on the virtual clock, reached over plain HTTP and TLS."""
    async with places.place() as made:
        yield made
