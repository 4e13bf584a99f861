"""A served lab and a client that knows its token."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from labkit.control.over_http.listener import ControlAddress, control_listener
from labkit.platform import Platform
from labkit.settings import ControlSettings, LabSettings
from tests.control.over_http.caller import Caller


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    async with Platform(LabSettings(https_port=0), seed=7) as platform:
        yield platform


@pytest.fixture
async def address(platform: Platform) -> AsyncIterator[ControlAddress]:
    async with control_listener(platform, ControlSettings()) as address:
        yield address


@pytest.fixture
async def caller(address: ControlAddress) -> AsyncIterator[Caller]:
    headers = {"Authorization": f"Bearer {address.token}"}
    async with httpx.AsyncClient(base_url=address.url, headers=headers, timeout=30) as client:
        yield Caller(client)
