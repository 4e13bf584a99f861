"""Virtual devices against a lab: requests, state, and errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from labkit.core.certificates import KeyPair, client_certificate
from labkit.core.identifiers import Identifiers
from labkit.fleet.device import Credentials, DeviceError, Point, VirtualDevice
from labkit.fleet.flow import FlowClient, LabAddress
from labkit.platform import Platform
from labkit.settings import LabSettings, build

RESOURCES = {"text": "string", "number": "number", "flag": "boolean"}
AUTHS = ["token", "password", "certificate"]
PRODUCTS = [{"id": auth, "auth": auth, "resources": RESOURCES} for auth in AUTHS]
Make = Callable[..., VirtualDevice]


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    async with Platform(build(LabSettings, {"https_port": 0, "products": PRODUCTS}), seed=7) as running:
        yield running


@pytest.fixture
def address(platform: Platform) -> LabAddress:
    return LabAddress("127.0.0.1", platform.context.address.https_port, platform.context.address.ca_pem)


@pytest.fixture
async def make(platform: Platform, address: LabAddress) -> AsyncIterator[Make]:
    """A function that makes virtual devices, which are closed after the test."""
    identifiers = Identifiers(1)

    async def password(length: int) -> str:
        return identifiers.alphanumeric("password", length)

    async with AsyncExitStack() as stack:

        def make(auth: str = "token", identity: str = "d") -> VirtualDevice:
            device = VirtualDevice(
                address,
                platform.devices.products.get(auth).domain,
                auth,
                identity,
                password,
            )
            stack.push_async_callback(device.close)
            return device

        yield make


async def refusal(awaited: Awaitable[object]) -> DeviceError:
    with pytest.raises(DeviceError) as refused:
        await awaited
    return refused.value


# --- credentials --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("auth", AUTHS)
async def test_a_device_activates_and_activates_again(make: Make, auth: str) -> None:
    device = make(auth)
    assert device.credentials == Credentials()
    await device.activate()
    first = device.credentials
    await device.write({"text": "a & ü"})
    await device.activate()
    assert device.credentials != first
    assert await device.read(["text"]) == {"text": "a & ü"}
    await device.use(first)
    assert (await refusal(device.read(["text"]))).status == 401


@pytest.mark.parametrize("auth", AUTHS)
async def test_a_refused_device_stores_no_credentials(platform: Platform, make: Make, auth: str) -> None:
    platform.devices.products.get(auth).change(self_registration=False)
    device = make(auth)
    error = await refusal(device.activate())
    assert error.status == (401 if auth == "certificate" else 404)
    assert device.credentials == Credentials()
    await platform.devices.registry.allow(auth, ["d"])
    await device.activate()
    assert await device.content() == []


async def test_the_repr_of_credentials_shows_no_secret(make: Make) -> None:
    device = make()
    await device.activate()
    assert repr(device.credentials) == "<credentials: token>"
    assert repr(Credentials()) == "<credentials: none>"


async def test_a_request_can_omit_the_credentials(make: Make) -> None:
    device = make()
    await device.activate()
    assert (await device.request("GET", "/provision/download")).status_code == 200
    assert (await device.request("GET", "/provision/download", credentials=False)).status_code == 401
    other = {"X-Platform-CIK": "0" * 40}
    assert (await device.request("GET", "/provision/download", headers=other)).status_code == 401


# --- each call ----------------------------------------------------------------------------------------------


async def test_values_are_sent_in_the_platforms_format(make: Make) -> None:
    device = make()
    await device.activate()
    await device.write({"text": True, "number": 21.5, "flag": False})
    assert await device.read(["text", "number", "flag", "none"]) == {
        "text": "true",
        "number": "21.5",
        "flag": "false",
    }
    assert await device.read(["none"]) == {}
    assert await device.write_and_read({"text": ""}, ["text"]) == {"text": ""}
    assert await device.write_and_read({"text": "x"}, ["none"]) == {}


async def test_a_poll_returns_a_point_or_none(platform: Platform, make: Make) -> None:
    device, writer = make(), make()
    await device.activate()
    await writer.use(device.credentials)
    polled = asyncio.ensure_future(device.poll("text", 30))
    await platform.devices.polls.wait_for_count("token", "d", "text", 1)
    await writer.write({"text": "new"})
    point = await polled
    assert point == Point("text", "new", "1767225600")
    assert await device.poll("text", 0, since=point.modified) is None
    assert await device.poll("text", 0, since=0) == point


async def test_points_are_recorded(make: Make) -> None:
    device = make()
    await device.activate()
    await device.record({"text": {5: "a", 6.5: "b"}, "number": {-10: 1}})
    # The point of second 5 itself comes once, since no poll has received it.
    assert await device.poll("text", 0, since=5) == Point("text", "a", "5")
    assert await device.poll("text", 0, since=5) == Point("text", "b", "6")
    error = await refusal(device.record({"text": {5: "a", 5.5: "b"}}))
    assert (error.status, error.reason) == (409, "text=5")


async def test_content_is_listed_described_and_downloaded(platform: Platform, make: Make) -> None:
    device = make()
    await device.activate()
    id = "fw 1.2+ü&.bin"
    await platform.devices.content.add("token", id, b"0123456789", "text/plain", "firmware")
    assert await device.content() == [id]
    assert await device.content_info(id) == "text/plain,10,1767225600,firmware"
    assert await device.download(id) == b"0123456789"
    assert await device.download(id, "bytes=-3") == b"789"


async def test_the_time_of_the_server(platform: Platform, make: Make) -> None:
    await platform.context.clock.advance(5)
    assert await make().timestamp() == 1767225605


async def test_a_refusal_has_the_device_the_request_and_the_reason(make: Make) -> None:
    device = make()
    error = await refusal(device.write({"text": "x"}))
    assert str(error) == "d: write: 401 credentials are missing; the device has none before activate()"
    assert (error.action, error.reason, error.response.status_code) == (
        "d: write",
        "credentials are missing",
        401,
    )


# --- connections --------------------------------------------------------------------------------------------


async def test_urls_carry_the_port_unless_it_is_443() -> None:
    assert LabAddress("127.0.0.1", 8443, "").url("a.b", "/x?y=1") == "https://a.b:8443/x?y=1"
    assert LabAddress("127.0.0.1", 443, "").url("a.b") == "https://a.b"


async def test_another_authority_is_not_trusted(platform: Platform, address: LabAddress) -> None:
    import httpx

    stranger = KeyPair.from_pem(*client_certificate("somebody")).certificate_pem.decode()
    client = FlowClient(LabAddress(address.host, address.https_port, stranger), "token.m2.lab.localhost")
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        await client.request("GET", "/timestamp")
    await client.close()


async def test_a_closed_client_reconnects(address: LabAddress, platform: Platform) -> None:
    client = FlowClient(address, "token.m2.lab.localhost")
    for _ in range(2):
        assert (await client.request("GET", "/timestamp")).text == "1767225600"
        await client.close()
    await client.close()


async def test_paths_are_sent_unchanged(address: LabAddress, platform: Platform) -> None:
    client = FlowClient(address, "token.m2.lab.localhost")
    for path in ("//double", "/a?b=c%26d", "/onep:v1/%73tack?a&b="):
        answer: Any = await client.request("GET", path)
        assert answer.status_code == 404
        seen = platform.context.journal.select("request")[-1].summary
        assert answer.request.url.raw_path.decode() == path
        assert seen.startswith("GET //") == path.startswith("//")
    await client.close()


async def test_patience_limits_the_wait_for_an_answer(platform: Platform, make: Make) -> None:
    import httpx

    device = make()
    await device.activate()
    with pytest.raises(httpx.ReadTimeout):
        await device.request(
            "GET", "/onep:v1/stack/alias?text", headers={"Request-Timeout": "1000"}, patience=0.01
        )
    async with asyncio.timeout(5):
        while len(platform.devices.polls):  # the server notices that the client has left
            await device.timestamp()
