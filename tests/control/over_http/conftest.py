"""A served lab and a client that knows its token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from labkit.control.over_http.listener import ControlAddress, control_listener
from labkit.platform import Platform
from labkit.settings import ControlSettings, LabSettings
from tests.control.over_http.caller import Caller
from tests.forked_starts import serving
from tests.guard import PATIENCE

SERVED = ("https_port=0", "products=[{id: a, resources: {t: number}}]", "solutions=[{id: a}]")


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
    async with httpx.AsyncClient(base_url=address.url, headers=headers, timeout=PATIENCE) as client:
        yield Caller(client)


@pytest.fixture
def served_control() -> Iterator[dict[str, str]]:
    """URL and token of the control of a `labkit serve` with a product `a` and a solution `a`, on a virtual clock."""
    overlay = [text for each in SERVED for text in ("--set", each)]
    with serving(*overlay, "--seed", "7", "--control", "--log", "none") as (_, ready):
        yield ready["control"]
