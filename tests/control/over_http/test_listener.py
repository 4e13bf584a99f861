"""Addresses of control over HTTP: loopback, or a host of its own with TLS by the lab's CA."""

from __future__ import annotations

import socket
import ssl

import httpx
import pytest

from labkit.control.over_http.client import ControlClient
from labkit.control.over_http.listener import control_listener
from labkit.control.over_http.operations import operations
from labkit.core.errors import LabError, SettingsError, TakenError, UnknownError
from labkit.platform import Platform
from labkit.settings import ControlSettings, LabSettings, ProductSettings, build
from tests.cases import cases


async def test_a_host_of_its_own_has_tls_by_the_labs_ca(platform: Platform) -> None:
    settings = ControlSettings(host="localhost")
    async with control_listener(platform, settings) as address:
        assert address.url.startswith("https://localhost:")
        context = ssl.create_default_context(cadata=platform.context.address.ca_pem)
        headers = {"Authorization": f"Bearer {address.token}"}
        async with httpx.AsyncClient(base_url=address.url, headers=headers, verify=context) as client:
            assert (await client.post("/v1/clock/state")).status_code == 200
        async with httpx.AsyncClient(base_url=address.url, headers=headers) as stranger:
            with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
                await stranger.post("/v1/clock/state")


async def test_a_named_host_may_be_used_by_its_name(platform: Platform) -> None:
    async with control_listener(platform, ControlSettings(host="127.0.0.3")) as address:
        context = ssl.create_default_context(cadata=platform.context.address.ca_pem)
        async with httpx.AsyncClient(verify=context) as client:
            assert (await client.get(f"{address.url}/health")).status_code == 200
            other = await client.get(f"{address.url}/health", headers={"Host": "127.0.0.4"})
            assert other.status_code == 403


@cases(
    ("host", "url"),
    [("0.0.0.0", "https://127.0.0.1:"), *([("::", "https://[::1]:")] if socket.has_dualstack_ipv6() else [])],
)
async def test_a_wildcard_address_is_known_by_the_loopback_names_alone(
    platform: Platform, host: str, url: str
) -> None:
    async with control_listener(platform, ControlSettings(host=host)) as address:
        assert address.url.startswith(url)
        context = ssl.create_default_context(cadata=platform.context.address.ca_pem)
        async with httpx.AsyncClient(verify=context, base_url=address.url) as client:
            statuses = {
                name: (await client.get("/health", headers={"Host": name})).status_code
                for name in (
                    "localhost",
                    "127.0.0.1:1",
                    "[::1]",
                    "[0:0::1]",
                    "0.0.0.0",
                    "[::]",
                    "127.0.0.2",
                    "lab",
                )
            }
        assert [name for name, status in statuses.items() if status == 200] == [*statuses][:4]
        assert set(statuses.values()) == {200, 403}


async def test_without_a_host_only_this_machine_reaches_it(platform: Platform) -> None:
    async with control_listener(platform, ControlSettings()) as address:
        assert address.url.startswith("http://127.0.0.1:")
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.2", httpx.URL(address.url).port)) != 0


async def test_a_port_in_use_and_an_unknown_host_are_named(platform: Platform) -> None:
    async with control_listener(platform, ControlSettings()) as address:
        port = httpx.URL(address.url).port
        with pytest.raises(SettingsError, match=f"control: cannot listen on 127.0.0.1:{port}: "):
            async with control_listener(platform, ControlSettings(port=port)):
                pass
    with pytest.raises(SettingsError, match=r"control: cannot listen on no-such-host.invalid:0: "):
        async with control_listener(platform, ControlSettings(host="no-such-host.invalid")):
            pass


def test_the_setting_is_a_switch_or_a_mapping() -> None:
    assert LabSettings().control is None
    assert build(LabSettings, {"control": False}).control is None
    assert build(LabSettings, {"control": True}).control == ControlSettings()
    given = build(LabSettings, {"control": {"host": "localhost", "port": 8444}})
    assert given.control == ControlSettings(host="localhost", port=8444)
    for wrong, text in {"yes": "control: ", "8444": "control: "}.items():
        with pytest.raises(SettingsError, match=text):
            build(LabSettings, {"control": wrong})


async def test_a_client_raises_the_errors_of_the_lab(platform: Platform) -> None:
    known = operations()
    async with control_listener(platform, ControlSettings()) as address:
        async with ControlClient(address.url, address.token) as client:
            settings = ProductSettings(id="thermostat")
            info = await client.call(known["products.ensure"], settings)
            assert info.settings == settings
            with pytest.raises(UnknownError, match="no product 'x'"):
                await client.call(known["products.get"], "x")
            with pytest.raises(TakenError, match="is there already with other settings"):
                await client.call(known["products.ensure"], ProductSettings(id="thermostat", auth="password"))
            with pytest.raises(SettingsError, match="domain: cannot change"):
                await client.call(
                    known["products.replace"], ProductSettings(id="thermostat", domain="a.example")
                )
            with pytest.raises(TypeError):
                await client.call(known["products.get"])
        async with ControlClient(address.url, "x" * 20) as stranger:
            with pytest.raises(LabError, match="refuses this token: expected the one that its server shows"):
                await stranger.call(known["clock.state"])
    async with ControlClient(address.url, address.token) as client:
        with pytest.raises(LabError, match=rf"the lab at {address.url} cannot be reached: "):
            await client.call(known["clock.state"])
