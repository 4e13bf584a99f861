"""Idle connections on a virtual clock: a real client's ends by lab time, and those of the lab itself stay."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Behaviour, Lab
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.run_options import Transport
from tests.guard import PATIENCE

HOST = "acme.apps.lab.localhost"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as made:
        acme = made.solution("acme")
        acme.route("GET", "/hi", lua="return 'hi'")
        yield made


def platform(lab: Lab) -> Any:
    return lab._runtime.control._platform  # type: ignore[attr-defined]


def opened(lab: Lab) -> http.client.HTTPConnection:
    """Return a TLS connection of a client that does not open another one."""
    trust = ssl.create_default_context(cafile=lab.ca_file)
    made = http.client.HTTPConnection(HOST, lab.address.https_port)
    tcp = socket.create_connection(("127.0.0.1", lab.address.https_port), timeout=PATIENCE)
    made.sock = trust.wrap_socket(tcp, server_hostname=HOST)
    made.auto_open = 0
    return made


def ask(connection: http.client.HTTPConnection) -> bytes:
    connection.request("GET", "/hi")
    return connection.getresponse().read()


def test_the_connection_of_a_real_client_ends_by_lab_time(lab: Lab) -> None:
    client = opened(lab)
    assert ask(client) == b"hi"
    lab.clock.advance(74)
    assert ask(client) == b"hi"
    lab.clock.advance(75)
    with pytest.raises((http.client.HTTPException, OSError)):
        ask(client)


def test_a_handle_asks_again_after_its_connection_has_ended(lab: Lab) -> None:
    acme = lab.solution("acme")
    for seconds in (1, 75, 76, 80_000):
        for _ in range(5):
            assert acme.get("/hi").text == "hi"
            lab.clock.advance(seconds)


def test_the_labs_own_requests_keep_their_connection(lab: Lab) -> None:
    outbound = platform(lab).context.outbound

    async def own() -> tuple[int, str]:
        return await outbound.request("GET", f"https://{HOST}:{lab.address.https_port}/hi", {})  # type: ignore[no-any-return]

    async def connections() -> int:
        return len(platform(lab).edge)

    for _ in range(3):
        assert lab._runtime.run(own) == (200, "hi")
        lab.clock.advance(100)
    assert lab._runtime.run(connections) == 1


@pytest.mark.parametrize("transport", ["memory", "tls"])
def test_the_devices_of_a_fleet_keep_their_connections(lab: Lab, transport: Transport) -> None:
    class Rare(Behaviour):
        async def run(self, device: FleetDevice) -> None:
            for value in range(3):
                await device.write(temperature=value)
                await device.sleep(hours=1)
            device.note(connections=device.connection.opened)

    product = lab.product("thermostat", resources={"temperature": "number"})
    run = product.fleet(3, Rare).run(hours=4, transport=transport)
    assert list(run.devices("connections").connections) == [1] * 3
