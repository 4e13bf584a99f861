"""Handling of requests: in order, with complete answers, and never with a traceback."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from labkit.http.connection import Connection
from tests.cases import cases
from tests.edge.rig import HOST, PATIENCE, EdgeRig, InMemory, get


async def test_a_connection_is_kept_open_and_reused(rig: EdgeRig, engine: str) -> None:
    client = await rig.connect()
    for number in range(20):
        status, headers, body = await client.answer(get(f"/{number}"))
        assert (status, body.decode()) == (200, f"{HOST} GET /{number} ")
        assert "connection" not in headers
    assert len(rig.connections) == 1


async def test_pipelined_requests_are_answered_in_order(rig: EdgeRig, engine: str, parser: str) -> None:
    client = await rig.connect()
    client.send("".join(get(f"/{number}") for number in range(100)))
    for number in range(100):
        assert (await client.answer())[2].decode() == f"{HOST} GET /{number} "


async def test_many_records_at_once_are_all_read(rig: EdgeRig, engine: str) -> None:
    """Each write of the client is a TLS record; they arrive in one piece. None may remain unread."""
    await rig.start()
    client = await rig.connect_plainly(rig.address.https_port)
    tls = InMemory(client, rig.trusting())
    await tls.shake_hands()
    for number in range(5):
        tls.secure.write(get(f"/{number}").encode())
    client.send(tls.up.read())
    came = b""
    while came.count(b"HTTP/1.1 200 OK") < 5:
        came += await tls.read()
    assert all(f"GET /{number} ".encode() in came for number in range(5))


async def test_an_upgrade_is_ignored_and_further_requests_are_answered(rig: EdgeRig, parser: str) -> None:
    client = await rig.connect()
    client.send(get("/1", HOST, "Connection: Upgrade", "Upgrade: websocket") + get("/2"))
    for path in ("/1", "/2"):
        assert (await client.answer())[2].decode() == f"{HOST} GET {path} "


async def test_connection_close_is_obeyed(rig: EdgeRig, parser: str) -> None:
    answer = await rig.ask(get("/", HOST, "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nConnection: close\r\n" in answer


async def test_http_1_0_is_answered_and_closed(rig: EdgeRig, parser: str) -> None:
    answer = await rig.ask(f"GET / HTTP/1.0\r\nHost: {HOST}\r\n\r\n")
    assert answer.startswith(b"HTTP/1.0 200 ")


async def test_head_has_the_headers_of_get_and_no_body(rig: EdgeRig) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="hello")

    rig.handler = handler
    client = await rig.connect()
    _, of_get, _ = await client.answer(get())
    status, of_head, _ = await client.answer(get(method="HEAD"), head=True)
    assert (status, of_head["content-length"]) == (200, "5")
    assert of_head.keys() == of_get.keys()
    assert (await client.answer(get()))[2] == b"hello"


@pytest.mark.parametrize("framing", ["Content-Length: 3", "Transfer-Encoding: chunked"])
async def test_a_body_is_read_with_any_framing(rig: EdgeRig, framing: str, parser: str) -> None:
    body = "a=1" if "Length" in framing else "1\r\na\r\n2\r\n=1\r\n0\r\n\r\n"
    client = await rig.connect()
    for _ in range(2):
        assert (await client.answer(get("/", HOST, framing, method="POST") + body))[2].endswith(b" a=1")


@cases(
    ("field", "status"),
    [
        ("Content-Encoding: gzip", 415),
        ("Content-Encoding: identity, GZIP", 415),
        ("Content-Encoding: identity", 200),
        ("Content-Encoding:", 200),
        ("Transfer-Encoding: gzip, chunked", 501),
        ("Transfer-Encoding: gzip", 501),
        ("Transfer-Encoding: Chunked", 200),
    ],
)
async def test_encodings_other_than_identity_and_chunked_are_refused(
    rig: EdgeRig, field: str, status: int, parser: str
) -> None:
    await rig.begin_case()
    chunked = field.startswith("Transfer")
    head = get(
        "/", HOST, "Connection: close", *([] if chunked else ["Content-Length: 1"]), field, method="POST"
    )
    answer = await rig.ask(head + ("1\r\nx\r\n0\r\n\r\n" if chunked else "x"))
    assert answer.split()[1] == str(status).encode()
    assert (b"\r\nAccept-Encoding: identity\r\n" in answer) == (status == 415)
    assert len(rig.connections) == (status == 200)


async def test_large_bodies_and_answers_are_complete(rig: EdgeRig, engine: str) -> None:
    data = "".join(f"{number:08d}" for number in range(100_000))

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        assert await request.text() == data
        return web.Response(text=data)

    rig.handler = handler
    client = await rig.connect()
    request = get("/", HOST, f"Content-Length: {len(data)}", method="POST") + data
    assert (await client.answer(request))[2].decode() == data
    assert rig.errors == []


async def test_answers_name_no_software_versions(rig: EdgeRig) -> None:
    client = await rig.connect()
    _, headers, _ = await client.answer(get())
    assert headers["server"] == "labkit"


async def test_the_date_is_lab_time(rig: EdgeRig) -> None:
    client = await rig.connect()
    assert (await client.answer(get()))[1]["date"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    assert b"\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n" in await client.ask(get("/", HOST, "nonsense"))


# --- Expect: 100-continue


async def test_100_continue_is_sent_when_the_body_is_read(rig: EdgeRig, parser: str) -> None:
    client = await rig.connect()
    client.send(get("/", HOST, "Content-Length: 3", "Expect: 100-continue", method="POST"))
    async with asyncio.timeout(PATIENCE):
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert (await client.answer("a=1"))[2].endswith(b" a=1")
    assert (await client.answer(get()))[0] == 200


async def test_a_refused_request_gets_no_100_continue(rig: EdgeRig, parser: str) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=401)

    rig.handler = handler
    answer = await rig.ask(get("/", HOST, "Content-Length: 3", "Expect: 100-continue", method="POST"))
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"\r\nConnection: close\r\n" in answer


async def test_a_body_sent_without_waiting_gets_no_100_continue(rig: EdgeRig) -> None:
    client = await rig.connect()
    status, _, body = await client.answer(
        get("/", HOST, "Content-Length: 3", "Expect: 100-continue", method="POST") + "a=1"
    )
    assert (status, body[-3:]) == (200, b"a=1")


async def test_any_other_expectation_is_refused(rig: EdgeRig) -> None:
    assert (await rig.ask(get("/", HOST, "Expect: miracles"))).startswith(b"HTTP/1.1 417 ")


# --- errors of a handler


async def raises(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
    raise ValueError("a secret of ours")


async def runs_into_a_time_limit(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
    raise TimeoutError("a secret of ours")


async def returns_nothing(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
    return None  # type: ignore[return-value]


async def returns_a_header_that_would_be_two(
    connection: Connection, request: web.BaseRequest
) -> web.StreamResponse:
    return web.Response(headers={"X": "a\r\nSecret: b"})


@cases("handler", [raises, runs_into_a_time_limit, returns_nothing, returns_a_header_that_would_be_two])
@cases("accept", ["*/*", "text/html"])
async def test_an_exception_is_a_500_in_plain_text(rig: EdgeRig, handler: object, accept: str) -> None:
    await rig.begin_case()
    rig.handler = handler  # type: ignore[assignment]
    answer = await rig.ask(get("/", HOST, f"Accept: {accept}"))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 500 ")
    assert b"\r\nContent-Type: text/plain" in head
    assert body == b"internal error"
    assert b"ecret" not in answer
    assert len(rig.errors) == 1


async def test_an_answer_that_fails_midway_ends_the_connection(rig: EdgeRig) -> None:
    trouble = ValueError("broken")

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"begun")
        raise trouble

    rig.handler = handler
    answer = await rig.ask(get())
    assert answer.count(b"HTTP/1.1") <= 1
    assert not answer.endswith(b"0\r\n\r\n")
    assert rig.errors == ["ValueError: broken"]
    assert (await rig.refusal())[0] == "answer broke off"


async def test_an_http_exception_is_an_answer(rig: EdgeRig) -> None:
    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        raise web.HTTPNotFound(text="no such thing")

    rig.handler = handler
    client = await rig.connect()
    for _ in range(2):
        status, _, body = await client.answer(get())
        assert (status, body) == (404, b"no such thing")
    assert rig.errors == []


# --- clients that disconnect


async def test_a_client_that_disconnects_cancels_its_request(rig: EdgeRig, engine: str) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    rig.handler = handler
    client = await rig.connect()
    client.send(get())
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        client.writer.close()
        await cancelled.wait()
    assert rig.errors == []


async def test_a_client_that_disconnects_during_an_answer_is_no_error(rig: EdgeRig) -> None:
    ended: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()

    async def pieces() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65536

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            async for piece in pieces():
                await response.write(piece)
        except BaseException as error:
            ended.set_result(error)
            raise
        return response

    rig.handler = handler
    client = await rig.connect()
    client.send(get())
    async with asyncio.timeout(PATIENCE):
        await client.reader.read(10)
        await client.close()
        assert isinstance(await ended, (ConnectionError, asyncio.CancelledError))
    assert rig.errors == []


async def test_an_answer_after_the_end_of_the_connection_is_no_error(rig: EdgeRig) -> None:
    begun, tried = asyncio.Event(), asyncio.Event()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            tried.set()
            await response.write(b"too late")
        return response

    rig.handler = handler
    client = await rig.connect()
    client.send(get())
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        await client.close()
        await tried.wait()
    await client.turn()
    assert rig.errors == []


# --- writes of an answer


async def test_head_and_body_of_a_small_answer_are_one_record(rig: EdgeRig, engine: str) -> None:
    await rig.start()
    client = await rig.connect_plainly(rig.address.https_port)
    tls = InMemory(client, rig.trusting(version=ssl.TLSVersion.TLSv1_2))
    await tls.shake_hands()
    for path in ("/1", "/2"):
        before = tls.records
        tls.secure.write(get(path).encode())
        client.send(tls.up.read())
        answer = await tls.read()
        assert answer.endswith(f"GET {path} ".encode())
        assert tls.records == before + 1
