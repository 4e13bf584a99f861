"""The connection of a fleet's device: failures of a request, and what is never sent twice."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from labkit.core.certificates import KeyPair, client_certificate
from labkit.core.errors import LabError
from labkit.edge.certificates import Authority
from labkit.fleet.channel import NoAnswerError
from labkit.fleet.connection import REFUSALS, DeviceConnection, DeviceServer
from labkit.fleet.flow import LabAddress

HOST = "device.m2.lab.localhost"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Rig:
    """A server that answers as a test sets, and records the requests."""

    def __init__(self) -> None:
        self.connections = 0
        self.resumed: list[bool] = []  # TLS session of each connection
        self.requests: list[bytes] = []
        self.rest = b""  # bytes after the last request
        self.answers: list[bytes | None] = []  # None: end the connection

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.resumed.append(writer.get_extra_info("ssl_object").session_reused)
        try:
            while self.answers:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(head)
                answer = self.answers.pop(0)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
                if b"\r\nX-End: 1\r\n" in answer:
                    break
            else:
                while piece := await reader.read(1024):
                    self.rest += piece
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()  # in order: OpenSSL resumes no session of a connection that was cut


@asynccontextmanager
async def served(
    rig: Rig, folder: Path, authority: Authority | None = None, port: int = 0
) -> AsyncIterator[LabAddress]:
    authority = authority or Authority.create()
    certificate, key = authority.leaf([HOST])
    file = folder / "leaf.pem"
    file.write_bytes(key + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server = await asyncio.start_server(rig.serve, "127.0.0.1", port, ssl=context)
    try:
        yield LabAddress("127.0.0.1", server.sockets[0].getsockname()[1], authority.ca_pem.decode())
    finally:
        server.close()


@asynccontextmanager
async def listening(rig: Rig, folder: Path) -> AsyncIterator[DeviceConnection]:
    async with served(rig, folder) as address:
        connection = DeviceConnection(DeviceServer(address, HOST))
        try:
            yield connection
        finally:
            connection.abort()


async def kind_of(request: Awaitable[object]) -> str:
    with pytest.raises(NoAnswerError) as error:
        await request
    return error.value.kind


async def test_one_connection_for_many_requests(tmp_path: Path) -> None:
    rig = Rig()
    rig.answers = [OK] * 5
    async with listening(rig, tmp_path) as connection:
        for _ in range(5):
            answer = await connection.request("GET", "/timestamp", headers={"X-A": "b"})
            assert (answer.status_code, answer.text) == (200, "hi")
    assert rig.connections == connection.opened == 1
    assert rig.requests[0] == f"GET /timestamp HTTP/1.1\r\nHost: {HOST}\r\nX-A: b\r\n\r\n".encode()


async def test_a_connection_that_ended_while_idle_is_reopened(tmp_path: Path) -> None:
    rig = Rig()
    rig.answers = [OK.replace(b"\r\n\r\n", b"\r\nX-End: 1\r\n\r\n"), OK]
    async with listening(rig, tmp_path) as connection:
        await connection.request("GET", "/1")
        async with asyncio.timeout(10):
            while connection.open:  # noqa: ASYNC110  nothing tells that the end has come
                await asyncio.sleep(0.001)
        await connection.request("GET", "/2")
    assert rig.connections == 2
    assert [each.split()[1] for each in rig.requests] == [b"/1", b"/2"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (None, "no answer"),
        (b"HTTP/1.1 200 OK\r\nX-End: 1\r\nContent-Length: 5\r\n\r\nhel", "cut"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "malformed"),
    ],
)
async def test_each_failure_of_an_answer_and_nothing_is_sent_twice(
    tmp_path: Path, answer: bytes | None, kind: str
) -> None:
    rig = Rig()
    rig.answers = [OK, answer, OK]
    async with listening(rig, tmp_path) as connection:
        await connection.request("GET", "/1")
        assert await kind_of(connection.request("POST", "/2", content=b"")) == kind
        assert [each.split()[1] for each in rig.requests] == [b"/1", b"/2"]
        await connection.request("GET", "/3")
    assert [each.split()[1] for each in rig.requests] == [b"/1", b"/2", b"/3"]
    assert rig.connections == 2


async def test_the_callback_runs_once_a_request_was_written(tmp_path: Path) -> None:
    rig = Rig()
    rig.answers = [OK, OK]
    written: list[bool] = []
    async with listening(rig, tmp_path) as connection:
        connection.on_sent = lambda: written.append(connection.open)
        first = asyncio.ensure_future(connection.request("GET", "/1"))
        await asyncio.sleep(0)
        assert written == []  # no connection is open yet
        await first
        assert written == [True]
        await connection.request("GET", "/2")
        assert written == [True]


async def test_a_request_without_a_connection_runs_no_callback_nor_does_the_next(tmp_path: Path) -> None:
    rig, authority, written = Rig(), Authority.create(), list[str]()
    async with served(rig, tmp_path, authority) as address:
        pass
    connection = DeviceConnection(DeviceServer(address, HOST))
    connection.on_sent = lambda: written.append("first")
    assert await kind_of(connection.request("GET", "/1")) == "refused"
    rig.answers = [OK]
    async with served(rig, tmp_path, authority, address.https_port):
        await connection.request("GET", "/2")
        connection.abort()
    assert written == []


async def test_no_server_listens(tmp_path: Path) -> None:
    rig = Rig()
    async with listening(rig, tmp_path) as connection:
        pass
    await asyncio.sleep(0)
    assert await kind_of(connection.request("GET", "/")) == "refused"


async def test_another_authority_is_refused(tmp_path: Path) -> None:
    rig = Rig()
    async with listening(rig, tmp_path) as connection:
        address = connection.server.address
        stranger = LabAddress(address.host, address.https_port, Authority.create().ca_pem.decode())
        assert await kind_of(DeviceConnection(DeviceServer(stranger, HOST)).request("GET", "/")) == "refused"
    assert rig.requests == []


async def test_a_request_that_times_out_is_followed_by_another_connection(tmp_path: Path) -> None:
    rig = Rig()
    rig.answers = [OK, b"", OK]
    async with listening(rig, tmp_path) as connection:
        await connection.request(
            "GET", "/1"
        )  # the timeout includes the connection, which may take its time here
        assert await kind_of(connection.request("GET", "/2", patience=0.05)) == "timeout"
        assert (await connection.request("GET", "/3")).text == "hi"
    assert rig.connections == 2


async def test_a_pending_request_has_no_time_limit(tmp_path: Path) -> None:
    rig = Rig()
    rig.answers = [OK, b""]
    async with listening(rig, tmp_path) as connection:
        await connection.request("GET", "/1")
        connection.on_sent = connection.disable_timeout
        request = asyncio.ensure_future(connection.request("GET", "/2", patience=0.05))
        done, _ = await asyncio.wait({request}, timeout=0.2)
        assert not done
        request.cancel()
        await asyncio.wait({request})
        assert not connection.open  # a late answer would be read as that of the next request


async def test_concurrent_requests_and_line_ends_are_refused(tmp_path: Path) -> None:
    rig = Rig()
    rig.answers = [OK]
    async with listening(rig, tmp_path) as connection:
        for path, headers in (("/\r\nX: y", {}), ("/", {"X": "a\nb"}), ("/", {"X\r\nY": "a"}), ("/\0", {})):
            with pytest.raises(LabError, match="line end"):
                await connection.request("GET", path, headers=headers)
        first = asyncio.ensure_future(connection.request("GET", "/"))
        await asyncio.sleep(0)
        with pytest.raises(LabError, match="one thing at a time"):
            await connection.request("GET", "/")
        assert (await first).text == "hi"
        with pytest.raises(LabError, match="no option 'json'"):
            await connection.request("GET", "/", json={})


async def test_a_device_that_reconnects_resumes_only_its_own_tls_session(
    tmp_path: Path,
) -> None:
    rig = Rig()
    end = OK.replace(b"\r\n\r\n", b"\r\nX-End: 1\r\n\r\n")
    rig.answers = [end, OK, OK, OK, OK]
    async with listening(rig, tmp_path) as connection:
        await connection.request("GET", "/1")
        await asyncio.wait_for(connection.lost(), 10)  # ended by the server
        await connection.request("GET", "/2")
        connection.abort()  # ended by the client
        await connection.request("GET", "/3")
        other = DeviceConnection(connection.server)
        await other.request("GET", "/4")
        connection.abort()
        connection.certificate = KeyPair.from_pem(*client_certificate("c-1"))
        await connection.request("GET", "/5")  # an old session does not have the current identity
        other.abort()
    assert rig.resumed == [False, True, True, False, False]


async def test_a_session_is_resumed_repeatedly_if_the_server_closes_each_connection(tmp_path: Path) -> None:
    """A server that resumes none is not offered a session that often."""
    rig, count = Rig(), REFUSALS + 3
    rig.answers = [OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")] * count
    async with served(rig, tmp_path) as address:
        connection = DeviceConnection(DeviceServer(address, HOST, shares_session=True))
        for _ in range(count):
            await connection.request("GET", "/")
    assert rig.resumed == [False] + [True] * (count - 1)


async def test_a_session_that_the_server_has_forgotten_is_no_error(tmp_path: Path) -> None:
    authority = Authority.create()
    before, after = Rig(), Rig()
    before.answers, after.answers = [OK], [OK]
    async with served(before, tmp_path, authority) as address:
        connection = DeviceConnection(DeviceServer(address, HOST))
        await connection.request("GET", "/1")
        connection.abort()
    async with served(after, tmp_path, authority, address.https_port):
        assert (await connection.request("GET", "/2")).text == "hi"
        connection.abort()
    assert after.resumed == [False]
