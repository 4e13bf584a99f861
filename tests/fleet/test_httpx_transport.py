"""The httpx transport: reuse of connections, and the errors of requests without an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from labkit.core.certificates import KeyPair, client_certificate
from labkit.fleet import httpx_transport as transport
from labkit.fleet.answer import HEAD
from labkit.fleet.flow import FlowClient
from tests.fleet.test_connection import HOST, OK, Rig, served

END = b"\r\nX-End: 1\r\n\r\n"  # the server ends the connection after it


@asynccontextmanager
async def asking(folder: Path, *answers: bytes | None) -> AsyncIterator[tuple[Rig, FlowClient]]:
    rig = Rig()
    rig.answers = [*answers]
    async with served(rig, folder) as address:
        client = FlowClient(address, HOST)
        try:
            yield rig, client
        finally:
            await client.close()


def connections(client: FlowClient) -> set[Any]:
    assert client._transport is not None
    return vars(client._transport)["_all"]  # type: ignore[no-any-return]


async def until(true: Callable[[], bool]) -> None:
    """Poll a condition that only private state shows."""
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_one_connection_for_many_requests(tmp_path: Path) -> None:
    async with asking(tmp_path, *[OK] * 5) as (rig, client):
        for _ in range(5):
            answer = await client.request("GET", "/a%20path?q", headers={"X-A": "b"})
            assert (answer.status_code, answer.reason_phrase, answer.text) == (200, "OK", "hi")
    assert rig.connections == 1
    assert rig.requests[0].startswith(b"GET /a%20path?q HTTP/1.1\r\n")
    assert b"\r\nHost: " + HOST.encode() in rig.requests[0]


async def test_concurrent_requests_have_a_connection_each(tmp_path: Path) -> None:
    async with asking(tmp_path, *[OK] * 6) as (rig, client):
        for _ in range(2):
            await asyncio.gather(*(client.request("GET", "/") for _ in range(3)))
    assert rig.connections == 3


async def test_headers_are_sent_unchanged(tmp_path: Path) -> None:
    odd = b"HTTP/1.1 299 Not so bad\r\nX-Twice: a\r\nx-twice: \xe9\r\nContent-Length: 0\r\n\r\n"
    async with asking(tmp_path, odd) as (_, client):
        answer = await client.request("GET", "/")
    assert (answer.status_code, answer.reason_phrase) == (299, "Not so bad")
    assert answer.headers.raw[:2] == [(b"X-Twice", b"a"), (b"x-twice", b"\xe9")]
    assert "content-length" in answer.headers


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3\r\n ho\r\n0\r\n\r\n", b"hi ho"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"hi"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)
async def test_a_connection_is_reused_after_any_complete_answer(
    tmp_path: Path, answer: bytes, body: bytes
) -> None:
    async with asking(tmp_path, answer, OK) as (rig, client):
        assert (await client.request("GET", "/")).content == body
        await client.request("GET", "/")
    assert rig.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
        OK + b"HTTP/1.1 200 OK\r\n",  # more than the announced body
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    ],
)
async def test_an_ended_connection_is_not_reused(tmp_path: Path, answer: bytes) -> None:
    async with asking(tmp_path, answer, OK) as (rig, client):
        for _ in range(2):
            assert (await client.request("GET", "/")).text == "hi"
    assert rig.connections == 2


async def test_a_connection_that_ended_while_idle_is_reopened(tmp_path: Path) -> None:
    async with asking(tmp_path, OK.replace(b"\r\n\r\n", END), OK) as (rig, client):
        await client.request("GET", "/")
        [connection] = connections(client)
        await until(lambda: connection.ended)
        await client.request("GET", "/")
    assert rig.connections == 2


async def test_a_connection_whose_end_the_loop_has_not_noticed_is_not_reused(tmp_path: Path) -> None:
    async with asking(tmp_path, OK.replace(b"\r\n\r\n", END), OK) as (rig, client):
        await client.request("GET", "/")
        [connection] = connections(client)
        connection._transport.pause_reading()
        await until(lambda: not connection.silent)
        assert (await client.request("GET", "/")).text == "hi"
    assert rig.connections == 2


async def test_clients_without_a_certificate_may_share_connections(tmp_path: Path) -> None:
    async with asking(tmp_path, *[OK] * 4) as (rig, own):
        shared = own.address.connections()
        certificate = KeyPair.from_pem(*client_certificate("a"))
        for shown in (None, None, certificate):
            client = FlowClient(own.address, HOST, shown, shared=shared)
            assert rig.connections <= 1
            await client.request("GET", "/")
            await client.close()
        assert rig.connections == 2
        await shared.aclose()


async def test_a_connection_that_was_idle_for_long_is_not_reused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(tmp_path, OK, OK) as (rig, client):
        await client.request("GET", "/")
        monkeypatch.setattr(transport, "IDLE_LIMIT", 0.0)
        await client.request("GET", "/")
    assert rig.connections == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, "without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5" + END + b"hel", "inside of its answer"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "no status line"),
        (b"HTTP/1.1 200 OK\r\nBad name: 1\r\n\r\n", "no header field"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", "Content-Length: '1, 2'"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2 * HEAD, "a head of more than"),
    ],
)
async def test_each_failure_of_an_answer_and_nothing_is_sent_twice(
    tmp_path: Path, answer: bytes | None, error: str
) -> None:
    async with asking(tmp_path, answer, OK) as (rig, client):
        with pytest.raises(httpx.RemoteProtocolError, match=error) as failed:
            await client.request("GET", "/1")
        assert failed.value.request.url.path == "/1"
        assert (await client.request("GET", "/2")).text == "hi"
    assert [each.split()[1] for each in rig.requests] == [b"/1", b"/2"]
    assert rig.connections == 2


async def test_the_timeout_limits_the_wait_for_an_answer(tmp_path: Path) -> None:
    async with asking(tmp_path, b"", b"HTTP/1.1 200 OK\r\n", OK) as (rig, client):
        for _ in range(2):
            with pytest.raises(httpx.ReadTimeout):
                await client.request("GET", "/", patience=0.1)
        assert (await client.request("GET", "/", patience=None)).text == "hi"
    assert rig.connections == 3  # a late answer is not read as that of the next request


async def test_the_timeout_restarts_with_each_piece_of_an_answer(tmp_path: Path) -> None:
    class Slow(Rig):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            for piece in (OK[:5], OK[5:30], OK[30:]):
                await asyncio.sleep(0.4)
                writer.write(piece)
            await reader.read()
            writer.transport.abort()

    async with served(Slow(), tmp_path) as address:
        client = FlowClient(address, HOST)
        assert (await client.request("GET", "/", patience=1.0)).text == "hi"
        await client.close()


async def test_a_request_that_is_cancelled_ends_its_connection(tmp_path: Path) -> None:
    async with asking(tmp_path, b"", OK) as (rig, client):
        sent = asyncio.Event()
        task = asyncio.create_task(client.request("GET", "/", extensions={"sent": sent.set}))
        await asyncio.wait_for(sent.wait(), 10)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await client.request("GET", "/")
    assert rig.connections == 2


async def test_an_answer_before_the_whole_request_is_sent_is_accepted(tmp_path: Path) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"x" * 2 * transport.PIECE
        [connection] = connections(client)
        await until(lambda: connection._answer is None)
        yield b"never asked for"

    refused = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n"
    async with asking(tmp_path, refused, OK) as (rig, client):
        assert (await client.request("POST", "/", content=body())).status_code == 413
        assert (await client.request("GET", "/")).status_code == 200
    assert rig.connections == 2


async def test_large_bodies_are_sent_whole(tmp_path: Path) -> None:
    async with asking(tmp_path, OK) as (rig, client):
        await client.request("POST", "/", content=b"x" * 3 * transport.PIECE)
    assert f"Content-Length: {3 * transport.PIECE}".encode() in rig.requests[0]


async def test_an_iterator_is_sent_in_chunks(tmp_path: Path) -> None:
    async def body() -> AsyncIterator[bytes]:
        for piece in (b"ab", b"", b"c" * 11):
            yield piece

    async with asking(tmp_path, OK) as (rig, client):
        await client.request("POST", "/", content=body())
        assert b"\r\nTransfer-Encoding: chunked\r\n" in rig.requests[0]
        await until(lambda: len(rig.rest) == len(b"2\r\nab\r\nb\r\nccccccccccc\r\n0\r\n\r\n"))
    assert rig.rest == b"2\r\nab\r\nb\r\nccccccccccc\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "GET /1 HTTP/1.1\r\nX:"},
        {"headers": {"X-A": "b\r\nX-C: d"}},
        {"headers": {"X A": "b"}},
        {"headers": {"Content-Length": "3"}, "content": b"four"},
    ],
)
async def test_headers_that_would_form_another_request_are_refused(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    async with asking(tmp_path, OK) as (rig, client):
        with pytest.raises(httpx.LocalProtocolError):
            await client.request(**{"method": "POST", "path": "/", **wrong})
        assert (await client.request("GET", "/")).text == "hi"
    assert len(rig.requests) == 1


async def test_no_server_and_another_authority_are_connection_errors(tmp_path: Path) -> None:
    async with asking(tmp_path) as (_, client):
        other = FlowClient(client.address, "other.example")
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await other.request("GET", "/")
        await other.close()
    with pytest.raises(httpx.ConnectError):
        await client.request("GET", "/")
