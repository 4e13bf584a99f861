"""Acting as a device by control, and cutting its connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from labkit import LabError, UnknownError
from labkit.control.control import Control
from labkit.control.devices import CUT
from labkit.settings import LabSettings, build
from tests.cases import cases

AUTHS = ("token", "password", "certificate")
PRODUCTS = [{"id": each, "auth": each, "resources": {"t": "number"}} for each in AUTHS]


@pytest.fixture
async def control() -> AsyncIterator[Control]:
    settings = {"https_port": 0, "products": PRODUCTS}
    control = await Control.start(build(LabSettings, settings, ""), seed=7)
    try:
        yield control
    finally:
        await control.stop()


@cases("auth", AUTHS)
async def test_a_device_has_credentials_until_the_platform_forgets_them(control: Control, auth: str) -> None:
    act = control.devices.act
    for _ in range(2):
        assert (await act(auth, "d", "activate")).status in (200, 204)
        assert (await act(auth, "d", "activate")).status in (200, 204)
        assert (await act(auth, "d", "write", {"t": 1})).status == 204
        await control.identities.lock(auth, "d")
        assert [(await act(auth, "d", each, {"t": 1})).status for each in ("write", "activate")] == [401, 401]
        await control.identities.unlock(auth, "d")
        assert (await act(auth, "d", "read", aliases=["t"])).values == {"t": "1"}
        await control.lab.reset()
    with pytest.raises(
        UnknownError, match=r"no action 'rite', there are: activate, write, .* did you mean write"
    ):
        await act(auth, "d", "rite")  # type: ignore[arg-type]
    for action, needed in {"write": "values", "poll": "aliases", "download": "content"}.items():
        with pytest.raises(LabError, match=f"{action} needs {needed}=…"):
            await act(auth, "d", action)  # type: ignore[arg-type]


async def test_a_poll_is_listed_and_cut(control: Control) -> None:
    await control.devices.act("token", "d", "activate")
    poll = asyncio.create_task(control.devices.act("token", "d", "poll", aliases=["t"]))
    await control.polls.wait_for_count("token", "d", "t")
    [held] = (await control.polls.all(identity="d")).items
    assert held.until == (await control.clock.state()).time + 30
    assert await control.devices.cut("token", "other") == 0
    assert await control.devices.cut("token", "d") == 1
    assert (await poll).status is None
    await control.lab.settle()
    assert not (await control.polls.all()).items
    [record] = (await control.journal.search(kind="request", device="token/d", text=CUT)).items
    assert record.status is None
