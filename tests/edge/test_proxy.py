"""The CONNECT proxy: it reaches the lab's own hosts at its HTTPS port, and nothing else."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from labkit import Lab, SettingsError
from labkit.edge import proxy
from tests.guard import PATIENCE

HOST = "thermostat.m2.lab.localhost"


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7, proxy_port=0, guard={"header": 0.5}) as lab:
        lab.product("thermostat", resources={"temperature": "number"})
        yield lab


def port_of(lab: Lab) -> int:
    assert lab.proxy is not None
    assert lab.proxy.startswith("http://127.0.0.1:")
    return int(lab.proxy.rpartition(":")[2])


def connect(lab: Lab) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(lab)), timeout=PATIENCE)


def ask(lab: Lab, head: bytes) -> bytes:
    """Send a head, and return everything until the end of the connection."""
    with connect(lab) as client:
        client.sendall(head)
        return b"".join(iter(lambda: client.recv(10_000), b""))


def connect_line(host: str, port: int) -> bytes:
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


@pytest.mark.parametrize("host", [HOST, HOST.upper()])
def test_a_tunnel_reaches_a_host_of_the_lab(lab: Lab, host: str) -> None:
    with connect(lab) as client:
        client.sendall(connect_line(host, lab.address.https_port))
        assert client.recv(1000) == b"HTTP/1.1 200 Connection established\r\n\r\n"
        context = ssl.create_default_context(cafile=lab.ca_file)
        with context.wrap_socket(client, server_hostname=HOST) as connection:
            connection.sendall(f"GET /timestamp HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    lab.settle()
    assert [each.summary for each in lab.journal.select("request")] == ["GET /timestamp"]


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1", "localhost", "other.m2.lab.localhost"])
def test_other_hosts_are_refused_and_recorded(lab: Lab, host: str) -> None:
    port = lab.address.https_port
    answer = ask(lab, connect_line(host, port))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert answer.endswith(
        f"\r\n\r\nthis proxy reaches the lab's hosts at port {port}, not {host}:{port}\n".encode()
    )
    [refused] = lab.journal.select("refused")
    assert refused.summary == "no host of the lab"
    assert refused.detail == {"reason": f"the proxy was asked for {host}:{port}"}


def test_other_ports_of_a_host_are_refused(lab: Lab) -> None:
    for port in (22, port_of(lab), 99999):
        assert ask(lab, connect_line(HOST, port)).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize(
    "head",
    [
        b"GET http://thermostat.m2.lab.localhost/timestamp HTTP/1.1\r\n\r\n",
        b"CONNECT thermostat.m2.lab.localhost HTTP/1.1\r\n\r\n",
        b"CONNECT a b:1 HTTP/1.1\r\n\r\n",
        b"\r\n\r\n",
        b"\xff\x00\r\n\r\n",
    ],
)
def test_other_requests_are_refused(lab: Lab, head: bytes) -> None:
    assert ask(lab, head).startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_head_that_is_too_long_or_late_ends_the_connection(lab: Lab) -> None:
    with connect(lab) as client, suppress(ConnectionError):  # it may be reset
        client.sendall(b"CONNECT " + b"x" * 3 * proxy.LONGEST)
        assert client.recv(1) == b""
    with connect(lab) as client:
        client.sendall(b"CONNECT ")
        assert client.recv(1) == b""  # after guard.header


def test_the_number_of_connections_is_limited(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MOST", 3)
    with ExitStack() as stack:
        for _ in range(3):
            client = stack.enter_context(connect(lab))
            client.sendall(connect_line(HOST, lab.address.https_port))
            assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
        assert ask(lab, connect_line(HOST, lab.address.https_port)).startswith(b"HTTP/1.1 503 ")


def test_without_power_the_proxy_says_so(lab: Lab) -> None:
    with connect(lab) as client:
        client.sendall(connect_line(HOST, lab.address.https_port))
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
        lab.restart(down=60)
        assert client.recv(1) == b""
    assert ask(lab, connect_line(HOST, lab.address.https_port)).startswith(b"HTTP/1.1 502 Bad Gateway\r\n")


def test_it_exists_only_where_it_is_asked_for_and_ends_with_the_lab(lab: Lab) -> None:
    with Lab(seed=7) as other:
        assert other.proxy is None
    port = port_of(lab)
    with connect(lab) as client:
        client.sendall(connect_line(HOST, lab.address.https_port))
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
        with pytest.raises(SettingsError, match=rf"proxy_port: cannot listen on 127\.0\.0\.1:{port}: "):
            Lab(seed=7, proxy_port=port)
        lab.close()
        assert client.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
