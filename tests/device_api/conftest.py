from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.device_api.rig import DeviceRig, device_rig


@pytest.fixture
async def rig() -> AsyncIterator[DeviceRig]:
    """A lab on the virtual clock, accessible over plain HTTP and TLS."""
    async with device_rig() as made:
        yield made
