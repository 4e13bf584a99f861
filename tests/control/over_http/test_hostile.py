"""Hostile use of control over HTTP: strangers, web pages, large bodies, many connections, clients that stop."""

from __future__ import annotations

import asyncio
import logging
import select
from collections.abc import Callable
from contextlib import AsyncExitStack

import httpx
import pytest

from labkit.control.over_http import answers, server
from labkit.control.over_http.access import new_token
from labkit.control.over_http.bodies import MAX_BODY, MAX_VALUES
from labkit.control.over_http.listener import ControlAddress, control_listener
from labkit.control.over_http.operations import operations
from labkit.control.over_http.server import AT_ONCE, MAX_CONNECTIONS
from labkit.core.errors import SettingsError
from labkit.fleet.descriptors import provide
from labkit.platform import Platform
from labkit.settings import ControlSettings
from tests.cases import cases
from tests.control.over_http.caller import Caller
from tests.guard import PATIENCE

HALF = {"Content-Length": "9", "Expect": "100-continue"}


async def test_a_token_has_32_random_bytes_and_differs_at_each_start(
    platform: Platform, address: ControlAddress
) -> None:
    assert len(address.token) == 43  # 32 bytes in base64url
    assert address.token not in repr(address)
    async with control_listener(platform, ControlSettings()) as other:
        assert other.token != address.token


def test_a_token_of_ones_own() -> None:
    assert new_token({"LABKIT_TOKEN": "a-token-of-ones-own"}) == "a-token-of-ones-own"
    for unfit in ("", "short", "with a space in it", "x" * 513, "é" * 20):
        with pytest.raises(SettingsError, match="LABKIT_TOKEN: expected 16 to 512") as raised:
            new_token({"LABKIT_TOKEN": unfit})
        assert not unfit or unfit not in str(raised.value)


@cases(
    "sent",
    ["", "Bearer", "Bearer x", "Basic dTpw", "TOKEN", "Bearer TOKENx", "Token TOKEN", "Bearer TOKEN TOKEN"],
)
async def test_nothing_is_answered_without_the_token(address: ControlAddress, sent: str) -> None:
    async with httpx.AsyncClient(base_url=address.url) as client:
        headers = {"Authorization": sent.replace("TOKEN", address.token)} if sent else {}
        operation = next(iter(operations().values()))
        for method, path in (("POST", operation.path), ("GET", "/openapi.json"), ("GET", "/v1/nothing")):
            answer = await client.request(method, path, headers=headers)
            assert answer.status_code == 401, path
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
            assert address.token not in answer.text
        in_url = await client.post(f"/v1/clock/state?token={address.token}&access_token={address.token}")
        assert in_url.status_code == 401


async def test_two_tokens_in_one_request_are_none(address: ControlAddress) -> None:
    async with httpx.AsyncClient(base_url=address.url) as client:
        headers = [("Authorization", f"Bearer {address.token}"), ("Authorization", "Bearer x")]
        assert (await client.post("/v1/clock/state", headers=headers)).status_code == 401


@cases(
    "host",
    [
        *(
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.2",
            "0.0.0.0",
            "lab.localhost",
        ),
        *("", "localhost:x", "a@localhost", "localhost, evil.example", "[::1", "LOCALHOST.", "[::2]"),
    ],
)
async def test_a_host_that_is_not_the_labs_own_is_refused(caller: Caller, host: str) -> None:
    for path in ("/health", "/v1/clock/state"):
        answer = await caller.client.post(path, headers={"Host": host})
        assert answer.status_code == 403, path


@cases("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80"])
async def test_loopback_names_are_the_labs_own(caller: Caller, host: str) -> None:
    assert (await caller.client.post("/v1/clock/state", headers={"Host": host})).status_code == 200


@cases(
    ("target", "host", "status"),
    [
        ("http://localhost:1/v1/clock/state", "localhost", 200),
        ("http://localhost/v1/clock/state", "evil.example", 200),  # RFC 9112 3.2.2: the target's host counts
        ("http://evil.example/v1/clock/state", "localhost", 403),
        ("HTTP://localhost@evil.example/v1/clock/state", "localhost", 403),
        ("http://evil.example@localhost/v1/clock/state", "localhost", 403),
        ("http:///v1/clock/state", "localhost", 400),
        ("//evil.example/v1/clock/state", "localhost", 404),
        ("/v1%2fclock/state", "localhost", 404),
        ("/v1%252fclock/state", "localhost", 404),
        ("/v1/%63lock/state", "localhost", 200),  # RFC 3986 6.2.2.2
    ],
)
async def test_the_target_is_read_as_written(caller: Caller, target: str, host: str, status: int) -> None:
    answer = await raw(caller, {"Host": host}, b"", target)
    assert answer.split()[1] == b"%d" % status


@cases("origin", ["http://localhost", "null", "https://evil.example", ""])
async def test_web_pages_are_refused_even_with_the_token(caller: Caller, origin: str) -> None:
    answer = await caller.client.post("/v1/clock/state", headers={"Origin": origin})
    assert answer.status_code == 403
    assert "Access-Control-Allow-Origin" not in answer.headers
    preflight = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    assert (await caller.client.options("/v1/clock/state", headers=preflight)).status_code == 403


async def test_a_body_that_is_too_large_is_refused(caller: Caller) -> None:
    declared = {"Content-Length": str(MAX_BODY + 1)}
    answer = await raw(caller, declared, b"{")
    assert answer.startswith(b"HTTP/1.1 413 ")

    async def pieces() -> object:
        for _ in range(MAX_BODY // 2**20 + 2):
            yield b" " * 2**20

    try:
        answered = await caller.client.post("/v1/clock/state", content=pieces())  # type: ignore[arg-type]
        assert answered.status_code == 413
    except httpx.WriteError:  # the server answered and ended the connection while the client still sent
        pass
    many = b'{"a":[' + b"1," * MAX_VALUES + b"1]}"
    assert (await caller.client.post("/v1/clock/state", content=many)).status_code == 413
    assert await caller.result("clock.state")


async def test_the_largest_body_is_read(caller: Caller) -> None:
    query = b'{"query": "select 1"' + b" " * (MAX_BODY - 21) + b"}"
    assert len(query) == MAX_BODY
    assert (await caller.client.post("/v1/database/sql", content=query)).status_code == 200


@cases(
    "head",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",  # TLS at the plain port
        b"GET\r\n\r\n",
        b"POST /v1/clock/state HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/clock/state HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\nA\x00: b\r\n\r\n",
        b"POST /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
async def test_no_http_is_refused_without_a_word_in_logs(
    address: ControlAddress, caplog: pytest.LogCaptureFixture, head: bytes
) -> None:
    with caplog.at_level(logging.DEBUG):
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(address.url).port)
        writer.write(head)
        answer = await reader.read(1000)
        writer.close()
    assert answer.startswith((b"HTTP/1.0 400 ", b"HTTP/1.1 400 "))
    assert b"secret" not in answer
    assert [each for each in caplog.records if each.name != "asyncio"] == []


async def test_a_thousand_connections_leave_room_for_the_client_and_for_devices(
    caller: Caller, address: ControlAddress, platform: Platform
) -> None:
    provide(1000, strict=False)
    port = httpx.URL(address.url).port
    opened, readers = [], []
    for number in range(1000):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        if number % 2:
            writer.write(b"POST /v1/clock/state HTTP/1.1\r\nHost: localhost\r\n")  # and nothing more
        opened.append(writer)
        readers.append(reader)
    assert await caller.result("clock.state")
    await caller.result("products.ensure", settings={"id": "thermostat", "resources": {"a": "string"}})
    reader, writer = await asyncio.open_connection("127.0.0.1", platform.context.address.https_port)
    writer.close()
    assert reader is not None
    async with asyncio.timeout(PATIENCE):  # the connection of the caller is one more
        await until(lambda: sum(map(_has_ended, readers)) >= 1001 - MAX_CONNECTIONS)
    for each in opened:
        each.close()


def _has_ended(reader: asyncio.StreamReader) -> bool:
    return reader.at_eof() or reader.exception() is not None


async def test_bodies_that_stop_and_streams_leave_room_for_a_call(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    halves = [await sent(caller, HALF, b"{") for _ in range(AT_ONCE + 8)]
    for reader, _ in halves:
        await reader.readuntil(b" 100 Continue\r\n\r\n")
    assert await caller.result("clock.state")
    monkeypatch.setattr(server, "MAX_REQUESTS", len(halves) + 3)
    async with AsyncExitStack() as stack:
        for status in (200, 200, 200, 503):
            stream = caller.client.stream("POST", "/v1/journal/follow", json={})
            assert (await stack.enter_async_context(stream)).status_code == status
    for _, writer in halves:
        writer.close()


async def test_an_answer_that_nobody_reads_ends_with_its_connection(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "UNREAD", 0.05)
    body = b'{"query": "select hex(zeroblob(12000000))"}'
    _, writer = await sent(caller, {"Content-Length": str(len(body))}, body, "/v1/database/sql")
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    ended = select.poll()
    ended.register(writer.get_extra_info("socket").fileno(), 0)
    assert await asyncio.to_thread(ended.poll, PATIENCE * 1000)
    writer.close()
    assert await caller.result("clock.state")


async def test_waits_end_with_their_client_and_do_not_count_among_the_requests(
    caller: Caller, platform: Platform
) -> None:
    await caller.result("products.ensure", settings={"id": "thermostat", "resources": {"a": "string"}})
    polls = platform.devices.polls
    wait = {"product": "thermostat", "identity": "t-1", "alias": "a"}
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(caller.post("polls.wait_for_count", **wait)) for _ in range(AT_ONCE + 8)]
        await until(lambda: len(polls._held) == len(waits))
        assert await caller.result("clock.state")
        for each in waits:
            each.cancel()
    await until(lambda: not polls._held)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  nothing tells
        await asyncio.sleep(0.01)


async def raw(caller: Caller, headers: dict[str, str], body: bytes, target: str = "/v1/clock/state") -> bytes:
    reader, writer = await sent(caller, headers, body, target)
    answer = await reader.read(1000)
    writer.close()
    return answer


async def sent(
    caller: Caller, headers: dict[str, str], body: bytes, target: str = "/v1/clock/state"
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    url = caller.client.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    fields = {"Host": "localhost", "Authorization": caller.client.headers["Authorization"], **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"POST {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
    return reader, writer
