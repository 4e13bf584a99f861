"""Tests that fail on purpose: their reports are compared."""

from __future__ import annotations

import socket
import ssl
import unittest
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from labkit import Lab
    from labkit.lab.product import Product
    from labkit.testing.firmware import Firmware
    from labkit.testing.server import LabServer


def thermostat(lab: Lab) -> Product:
    return lab.product("thermostat", resources={"temperature": "number"})


def speak(host: str, port: int, head: str) -> bytes:
    """Send a request with a wrong Host, whose connection the lab ends without an answer."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port)) as raw,
        context.wrap_socket(raw, server_hostname=host) as connection,
    ):
        connection.sendall(f"{head}\r\n\r\n".encode())
        return connection.recv(1000)


def test_silence(lab: Lab) -> None:
    device = thermostat(lab).device("t-001").activate()
    for number in range(13):
        device.write(temperature=number)
    host, port = thermostat(lab).domain, lab.address.https_port
    assert speak(host, port, "GET /timestamp HTTP/1.1\r\nHost: other.example") == b""
    device.write(temperature=21)
    assert device.read("temperature") == {"temperature": "22"}


@pytest.mark.xdist_group("refusals")
def test_refusal(lab: Lab) -> None:
    thermostat(lab).device("t-001").write(temperature=21.5)


def test_program(lab: Lab, firmware: Firmware) -> None:
    firmware(["sh", "-c", "echo begins; sleep 60; echo ends; exit 3"], identity="t-001", ends=True)
    firmware(["sleep", "600"], identity="t-002")
    lab.clock.advance(100)
    assert len(lab.journal.writes()) == 1


def test_wrong_use(lab: Lab) -> None:
    thermostat(lab).device("t-001").activate().poll("temperature")


@pytest.mark.lab(https_prt=1)
def test_wrong_setting(lab: Lab) -> None:
    raise AssertionError("never reached")


@pytest.mark.lab("lab.yaml")
def test_wrong_marker(lab: Lab) -> None:
    raise AssertionError("never reached")


def test_shared(lab_session: Lab) -> None:
    thermostat(lab_session).device("t-009").write(temperature=1)


@pytest.mark.lab(config="lab.yaml")
def test_server(labkit_server: LabServer) -> None:
    [host] = labkit_server.hosts
    assert speak(host, labkit_server.https_port, "GET /timestamp HTTP/1.1\r\nHost: other.example") == b"?"


@pytest.mark.usefixtures("lab")
class OldTest(unittest.TestCase):
    lab: Lab

    def test_old(self) -> None:
        thermostat(self.lab).device("t-001").write(temperature=21.5)
