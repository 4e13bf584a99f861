"""Runs of fleets that are described by plain data, in the process and over HTTP."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import AsyncIterator

import httpx
import pytest

from labkit.control.control import Control
from labkit.control.fleets import FleetRunTick, NamedBehaviour
from labkit.control.following import Missed
from labkit.control.over_http.listener import control_listener
from labkit.core.errors import LabError, UnknownError
from labkit.fleet.behaviours import BEHAVIOURS
from labkit.settings import ControlSettings, IdentityFormat, LabSettings, ProductSettings
from tests.control.over_http.caller import Caller

PRODUCT = ProductSettings(id="thermostat", resources={"temperature": "number"})


@pytest.fixture
async def control() -> AsyncIterator[Control]:
    control = await Control.start(LabSettings(https_port=0), seed=7)
    await control.products.add(PRODUCT)
    try:
        yield control
    finally:
        await control.stop()


def test_all_behaviours_but_those_with_tables_have_a_name() -> None:
    assert {*typing.get_args(NamedBehaviour), "replay"} == set(BEHAVIOURS)


async def test_a_day_of_a_fleet_advances_the_clock_and_repeats(control: Control) -> None:
    begin = (await control.clock.state()).time
    result = await control.fleets.run("thermostat", 3, 86400, settings={"every": 3600}, seed=1, every=21600)
    assert (result.requests, result.errors, result.failed) == (72, {}, [])
    assert result.seconds == 86400
    assert (await control.clock.state()).time == begin + 86400
    [counted] = (await control.database.sql("select count(*) from datapoint")).rows
    await control.lab.reset()
    again = await control.fleets.run("thermostat", 3, 86400, settings={"every": 3600}, seed=1, every=21600)
    assert again == result
    assert (await control.database.sql("select count(*) from datapoint")).rows == (counted,)


async def test_ticks_are_followed(control: Control) -> None:
    ticks = await control.fleets.follow()
    await control.fleets.run("thermostat", 2, 3600, settings={"every": 600}, every=1800)
    found = [await anext(ticks) for _ in range(2)]
    await ticks.aclose()  # type: ignore[attr-defined]
    assert not any(isinstance(each, Missed) for each in found)
    assert sum(each.requests for each in found if isinstance(each, FleetRunTick)) == 12


async def test_faults_of_devices_and_wrong_arguments(control: Control) -> None:
    run = control.fleets.run
    result = await run(
        "thermostat", 2, 3600, settings={"every": 600}, faults=[{"does": "drop before", "every": 2}]
    )
    assert sum(result.errors.values()) > 0
    with pytest.raises(UnknownError, match="no product 'x'"):
        await run("x", 1, 1)
    with pytest.raises(LabError, match="Thermostat: no parameter 'often'"):
        await run("thermostat", 1, 1, settings={"often": 1})
    with pytest.raises(UnknownError, match="no fault of a device 'dro'"):
        await run("thermostat", 1, 1, faults=[{"does": "dro"}])
    with pytest.raises(LabError, match="faults: "):
        await run("thermostat", 1, 1, faults=[{"does": "drop before", "evry": 1}])


async def test_identities_have_the_products_format(control: Control) -> None:
    await control.products.add(
        ProductSettings(
            id="mac", resources={"temperature": "number"}, identity_format=IdentityFormat(type="mac")
        )
    )
    await control.fleets.run("mac", 2, 60)
    assert [each.identity for each in await control.identities.all("mac")] == [
        "02:00:00:00:00:01",
        "02:00:00:00:00:02",
    ]


async def test_over_http_it_is_a_run_that_can_be_ended(control: Control) -> None:
    await control.clock.run()
    async with (
        control_listener(control._platform, ControlSettings()) as address,
        httpx.AsyncClient(
            base_url=address.url, headers={"Authorization": f"Bearer {address.token}"}
        ) as client,
    ):
        arguments = {"product": "thermostat", "count": 2, "seconds": 3600}
        answer = await client.post("/v1/fleets/run", json=arguments, headers={"Prefer": "respond-async"})
        path = answer.headers["Location"]
        while not await control.identities.all("thermostat"):  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.01)
        assert (await Caller(client).refused("fleets.run", **arguments))[0] == 409
        assert (await client.delete(path)).json()["state"] == "ended"
        result = await Caller(client).result("fleets.run", **{**arguments, "seconds": 0.2})
        assert result["failed"] == []


async def test_earlier_names_go_on_working_and_name_the_present_ones(control: Control) -> None:
    async with (
        control_listener(control._platform, ControlSettings()) as address,
        httpx.AsyncClient(
            base_url=address.url, headers={"Authorization": f"Bearer {address.token}"}
        ) as client,
    ):
        answer = await client.post("/v1/plays/all", json={})
        assert (answer.status_code, answer.json()) == (200, [])
        assert answer.headers["Link"] == '</v1/fleets/all>; rel="successor-version"'
        assert "Link" not in (await client.post("/v1/fleets/all", json={})).headers
