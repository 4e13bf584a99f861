"""Malformed requests: answered with a short reason in plain text, then the connection ends."""

import asyncio
import re
import ssl

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from labkit.http.connection import Connection
from tests.cases import case, cases
from tests.edge.rig import HOST, OTHER, PATIENCE, SOON, EdgeRig, InMemory, echo, get

FIELDS = [f"X-{number}: y" for number in range(200)]
LONG = "x" * 12_000
WHOLE = f"Host: {HOST}\r\n\r\n"

MALFORMED = {
    "no version": (f"GET /\r\n{WHOLE}", 400),
    "a version of another kind": (f"GET / HTTP/9.x\r\n{WHOLE}", 400),
    "a version of its own": (f"GET / HTTP/2.0\r\n{WHOLE}", 400),
    "no HTTP at all": (f"hello\r\n{WHOLE}", 400),
    "much of what is no HTTP": (f"{'x' * 5000}\r\n{WHOLE}", 400),
    "no method": (f" / HTTP/1.1\r\n{WHOLE}", 400),
    "a method with a comma": (f"GE,T / HTTP/1.1\r\n{WHOLE}", 400),
    "a target with spaces": (f"GET /a b HTTP/1.1\r\n{WHOLE}", 400),
    "a field without a colon": (get("/", HOST, "nonsense"), 400),
    "a field without a name": (get("/", HOST, ": x"), 400),
    "a space before the colon": (get("/", HOST, "X : y"), 400),
    "a null byte": (get("/", HOST, "X: \x00"), 400),
    "two hosts": (get("/", HOST, f"Host: {HOST}:443"), 400),
    "one host twice": (get("/", HOST, f"Host: {HOST}"), 400),
    "line ends without a carriage return": (get().replace("\r", ""), 400),
    "a length with letters": (get("/", HOST, "Content-Length: abc", method="POST"), 400),
    "a negative length": (get("/", HOST, "Content-Length: -1", method="POST"), 400),
    "a length with a plus": (get("/", HOST, "Content-Length: +1", method="POST") + "x", 400),
    "two lengths": (get("/", HOST, "Content-Length: 1", "Content-Length: 2", method="POST") + "xx", 400),
    "both framings": (
        get("/", HOST, "Content-Length: 5", "Transfer-Encoding: chunked", method="POST") + "0\r\n\r\n",
        400,
    ),
    "an unknown framing": (get("/", HOST, "Transfer-Encoding: gzip", method="POST") + "x", 501),
    "a framing said twice": (get("/", HOST, *["Transfer-Encoding: chunked"] * 2, method="POST") + "x", 400),
    "a line too long": (get("/" + LONG), 414),
    "a query too long": (get("/?" + "a=b&" * 3000), 414),
    "a field too long": (get("/", HOST, f"X: {LONG}"), 431),
    "a name too long": (get("/", HOST, f"{LONG}: y"), 431),
    "too many fields": (get("/", HOST, *FIELDS), 431),
    "a block too large": (get("/", HOST, *(f"X-{number}: {'y' * 8000}" for number in range(9))), 431),
}
NO_HOST = {
    "no HTTP at all": "hello\r\n\r\n",
    "much of what is no HTTP": "x" * 5000 + "\r\n\r\n",
    "binary": "\x00\x01\x02\x03\r\n\r\n",
    "HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a target without a host": get("http:///x"),
    "two hosts": get("/", HOST, f"Host: {OTHER}"),
    "a host that is no name": get("/", f"{HOST}, {HOST}", "nonsense"),
    "a host that follows a space": f"GET /a b HTTP/1.1\r\n {WHOLE}",
    "a target for another host": get(f"https://{OTHER}/", HOST, "nonsense"),
    "a block too large before the host": f"GET / HTTP/1.1\r\nX: {'y' * 65_536}\r\n{WHOLE}",
}
BROKEN_BODIES = {
    "a chunk size that is none": "xyz\r\n",
    "a negative chunk size": "-1\r\n",
    "a chunk longer than it says": "1\r\nabc\r\n0\r\n\r\n",
}


def check(answer: bytes, status: int) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert len(re.findall(rb"^HTTP/1\.1 \d{3} ", answer, re.MULTILINE)) == 1, answer
    assert head.split()[1] == str(status).encode(), answer
    assert b"\r\nContent-Type: text/plain; charset=utf-8" in head
    assert b"\r\nConnection: close" in head
    assert 0 < len(body) <= 200
    assert b"\n" not in body
    for sign in (b"<", b"Traceback", b'File "', b"aiohttp"):
        assert sign not in answer


async def test_a_head_that_cannot_be_read(rig: EdgeRig, parser: str) -> None:
    for kind, (data, status) in MALFORMED.items():
        with case(kind):
            check(await rig.ask(data), status)
            reason, detail = await rig.refusal()
            assert reason == "request cannot be read"
            assert detail.startswith(str(status))
            assert (rig.connections, rig.errors) == ([], [])
        await rig.clear()


async def test_a_malformed_head_may_come_in_small_pieces(rig: EdgeRig, parser: str) -> None:
    await rig.start(http=True)
    for kind, (data, status) in MALFORMED.items():
        client = await rig.connect_plainly()
        step = max(1, len(data) // 100)
        with case(kind):
            for start in range(0, len(data), step):
                client.send(data[start : start + step])
                await client.turn()
            check(await client.rest(), status)
        await rig.clear()


@pytest.mark.parametrize("http", [False, True])
async def test_another_host_gets_no_byte(rig: EdgeRig, http: bool, parser: str) -> None:
    """The host is checked first, so that a client of another host gets no information."""
    rig.hosts = (HOST,)
    await rig.start(http=True)
    for kind, (data, _) in MALFORMED.items():
        with case(kind):
            client = await (rig.connect_plainly() if http else rig.connect())
            assert await client.ask(data.replace(HOST, OTHER)) == b""
            reason, detail = await rig.refusal()
            assert reason == "wrong host"
            assert OTHER in detail
        await rig.clear()


async def test_without_a_readable_host_no_byte_is_sent(rig: EdgeRig, parser: str) -> None:
    for kind, data in NO_HOST.items():
        with case(kind):
            assert await rig.ask(data) == b""
            assert (await rig.refusal())[0] == "wrong host"
            assert (rig.connections, rig.errors) == ([], [])
        await rig.clear()


@cases(
    ("half", "status"),
    [
        (f"GET /{LONG} HTTP/1.1\r\nHost: {HOST}\r\n", 414),
        (f"GET / HTTP/1.1\r\nHost: {HOST}\r\nX: {LONG}", 431),
        (f"GET / HTTP/1.1\r\nHost: {HOST}\r\nX : y", 400),
        (f"GET /{LONG}", None),
        (f"GET / HTTP/1.1\r\nX : y\r\nHost: {HOST}", None),
        (f"GET / HTTP/1.1\r\nHost: {OTHER}\r\nX : y\r\n", None),
    ],
)
async def test_an_incomplete_head_that_cannot_become_valid_is_refused_at_its_time_limit(
    rig: EdgeRig, half: str, status: int | None, parser: str
) -> None:
    await rig.begin_case(header=SOON)
    answer = await rig.ask(half)
    if status is None or (status == 400 and parser == "python"):  # the latter parses whole heads only
        assert answer == b""
        assert (await rig.refusal())[0] == "request head too late"
    else:
        check(answer, status)


PIPELINED = [
    get("/1"),
    get("/2", HOST, "Content-Length: 3", method="POST") + "a=1",
    get("/3", HOST, "Transfer-Encoding: chunked", method="POST")
    + "2;x\r\n\r\n\r\n1\r\na\r\n0\r\nT: t\r\n\r\n",
]


@cases("size", [1, 7, 1_000_000])
@cases("last", ["no version", "a line too long", "a field too long", "of another host"])
async def test_requests_in_the_same_piece_before_it_are_answered(
    rig: EdgeRig, last: str, size: int, parser: str
) -> None:
    await rig.begin_case()
    data = "".join(PIPELINED) + (
        get("/", OTHER, "X : y") if last == "of another host" else MALFORMED[last][0]
    )
    client = await rig.connect()
    start, near = (
        0,
        len("".join(PIPELINED)) + 200,
    )  # the end of an overlong line need not come byte by byte
    while start < len(data):
        end = start + (size if start < near else max(size, 100))
        client.send(data[start:end])
        await client.turn()
        start = end
    bodies = [(await client.answer())[2].decode().split(" ", 2)[2] for _ in PIPELINED]
    assert bodies == ["/1 ", "/2 a=1", "/3 \r\na"]
    if last == "of another host":
        assert await client.rest() == b""
    else:
        check(await client.rest(), MALFORMED[last][1])


@cases("kind", ["no HTTP at all", "a line too long", "a block too large"])
async def test_the_request_before_it_is_answered_first(rig: EdgeRig, kind: str, parser: str) -> None:
    await rig.begin_case()
    begun, held = asyncio.Event(), asyncio.Event()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        begun.set()
        await held.wait()
        return web.Response(text="the first")

    rig.handler = handler
    client = await rig.connect()
    client.send(get())
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
    client.send(MALFORMED[kind][0])
    await client.turn()
    held.set()
    assert (await client.answer())[2] == b"the first"
    check(await client.rest(), MALFORMED[kind][1])


@cases("kind", BROKEN_BODIES)
async def test_a_body_that_cannot_be_read(rig: EdgeRig, kind: str, parser: str, engine: str) -> None:
    await rig.begin_case()
    begun = asyncio.Event()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        begun.set()
        return await echo(connection, request)

    rig.handler = handler
    client = await rig.connect()
    client.send(get("/", HOST, "Transfer-Encoding: chunked", method="POST") + "1\r\na\r\n")
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
    check(await client.ask(BROKEN_BODIES[kind]), 400)
    assert rig.errors == []


@cases("kind", BROKEN_BODIES)
async def test_a_malformed_body_that_the_handler_does_not_read(rig: EdgeRig, kind: str, parser: str) -> None:
    await rig.begin_case()

    async def handler(connection: Connection, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=401)

    rig.handler = handler
    answer = await rig.ask(get("/", HOST, "Transfer-Encoding: chunked", method="POST") + BROKEN_BODIES[kind])
    assert answer.startswith((b"HTTP/1.1 401 ", b"HTTP/1.1 400 "))
    assert rig.errors == []


async def test_a_cut_body_is_no_error_of_the_edge(rig: EdgeRig) -> None:
    client = await rig.connect()
    client.send(get("/", HOST, "Content-Length: 9", method="POST") + "a")
    await client.writer.drain()
    client.writer.close()
    await (await rig.connect()).answer(get())
    assert rig.errors == []


async def test_a_large_request_that_is_still_sent_gets_its_answer(rig: EdgeRig, engine: str) -> None:
    check(await rig.ask(get("/", HOST, *[f"X: {'y' * 8000}"] * 100)), 431)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_the_answer_reaches_a_client_that_is_still_sending(
    rig: EdgeRig, engine: str, version: ssl.TLSVersion
) -> None:
    await rig.start()
    client = await rig.connect_plainly(rig.address.https_port)
    tls = InMemory(client, rig.trusting(version=version))
    await tls.shake_hands()
    for _ in range(20):
        tls.secure.write(f"GET / nonsense\r\n{WHOLE}".encode())
        client.send(tls.up.read())
        await client.turn()
    check(await tls.read(), 400)
    assert await tls.read() == b""


async def test_a_head_just_within_the_limits_is_read(rig: EdgeRig, parser: str) -> None:
    fields = [f"X-{number}: {'y' * 8000}" for number in range(8)]
    assert 64_000 < len(get("/", HOST, *fields)) < 65_536
    client = await rig.connect()
    assert (await client.answer(get("/", HOST, *fields)))[0] == 200
    assert (await client.answer(get("/", HOST, *FIELDS[:120])))[0] == 200


async def test_a_body_is_not_counted_as_head(rig: EdgeRig, parser: str) -> None:
    client = await rig.connect()
    head = get("/", HOST, "Content-Length: 200000", method="POST")
    for cut in (0, 1, 3):  # in one piece, and with its end cut in two
        assert (await client.answer(head + "x" * 200_000))[0] == 200
        client.send(head[: len(head) - cut])
        await client.turn()
        assert (await client.answer(head[len(head) - cut :] + "x" * 200_000))[0] == 200


async def test_a_body_beyond_the_limit_is_413(rig: EdgeRig) -> None:
    big = 2 * 1024 * 1024
    client = await rig.connect()
    status, headers, _ = await client.answer(
        get("/", HOST, f"Content-Length: {big}", method="POST") + "x" * big
    )
    assert (status, headers["content-type"]) == (413, "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    "data",
    [
        get("/", HOST, f"Content-Length: {'9' * 30}", method="POST"),
        get("/", HOST, "Transfer-Encoding: chunked", method="POST") + f"{'f' * 20}\r\n",
    ],
)
async def test_a_length_beyond_all_limits(rig: EdgeRig, data: str, parser: str) -> None:
    await rig.start(body=SOON)
    check(await rig.ask(data), 400 if parser == "c" else 408)  # Python's numbers have no limit


LINES = st.text("GETPOSH /:aHTTP1.x\r\n\t\x00é", max_size=60)


@given(texts=st.lists(LINES, min_size=1, max_size=3))
async def test_no_input_gets_a_5xx_or_a_traceback(texts: list[str]) -> None:
    rig = EdgeRig()
    await rig.start(http=True, header=0.01)
    client = await rig.connect_plainly()
    answer = await client.ask("".join(texts) + "\r\n\r\n")
    assert b"HTTP/1.1 5" not in answer
    assert b"HTTP/1.0 5" not in answer
    assert rig.errors == []
    await rig.close()
