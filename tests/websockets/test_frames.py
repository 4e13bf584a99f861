"""Strangers' messages: handshakes and frames that RFC 6455 does not allow, pieces, sizes at the boundary."""

from __future__ import annotations

import pytest

from labkit import Lab
from labkit.http.frame_bounds import FrameBounds, UnmaskedError
from labkit.http.websocket import MESSAGE_LIMIT
from labkit.lab.solution import Solution
from tests.websockets.rig import BINARY, CLOSE, PING, PONG, TEXT, RawSocket, frame, raw, steps

ODD = "é e\u0301 \0 😀 \u2028".encode()


def test_a_handshake(acme: Solution) -> None:
    with raw(acme, None) as client:
        status, headers = client.shake("/live")
        assert status == 101
        assert headers["upgrade"] == "websocket"
        assert headers["connection"].lower() == "upgrade"
        assert headers["sec-websocket-accept"] == "BACScCJPNqyz+UBoqMH89VmURoA="  # of openssl sha1
        assert "sec-websocket-protocol" not in headers
        assert "content-length" not in headers
        assert "transfer-encoding" not in headers


@pytest.mark.parametrize(
    ("offered", "agreed"),
    [(["json"], "json"), (["v2.json, v1"], "v2.json"), (["a", "b"], "a"), (["x" * 200], "x" * 200)],
)
def test_the_first_subprotocol_is_agreed_on(acme: Solution, offered: list[str], agreed: str) -> None:
    with raw(acme, None) as client:
        status, headers = client.shake("/live", *(f"Sec-WebSocket-Protocol: {each}" for each in offered))
        assert (status, headers["sec-websocket-protocol"]) == (101, agreed)


@pytest.mark.parametrize(
    ("without", "lines", "status"),
    [
        ("Sec-WebSocket-Key", [], 400),
        ("Sec-WebSocket-Key", ["Sec-WebSocket-Key: short"], 400),
        ("Sec-WebSocket-Key", ["Sec-WebSocket-Key: " + "A" * 22 + "=="] * 2, 400),
        ("Sec-WebSocket-Key", ["Sec-WebSocket-Key: " + "A" * 21 + "B=="], 400),  # not what base64 writes
        ("Sec-WebSocket-Version", [], 426),
        ("Sec-WebSocket-Version", ["Sec-WebSocket-Version: 8"], 426),
        ("Sec-WebSocket-Version", ["Sec-WebSocket-Version: 13, 8"], 426),
        ("Upgrade", [], 426),
        ("Upgrade", ["Upgrade: h2c"], 426),
        ("Connection", ["Connection: keep-alive"], 426),
        ("", ["Content-Length: 5"], 400),
        ("", ["Transfer-Encoding: chunked"], 400),
        ("", ["Sec-WebSocket-Protocol: a b"], 400),
        ("", ["Sec-WebSocket-Protocol: " + "x" * 201], 400),
        ("", ["Origin: https://elsewhere.example"], 403),
        ("", ["Origin: null"], 403),
        ("", ["Origin: https://acme.apps.lab.localhost.example"], 403),
        ("", ["Origin: http://localhost:3000"], 101),
        ("", ["Content-Length: 0"], 101),
        ("Upgrade", ["Upgrade: h2c, WebSocket"], 101),
    ],
)
def test_handshakes(acme: Solution, without: str, lines: list[str], status: int) -> None:
    with raw(acme, None) as client:
        found, headers = client.shake("/live", *lines, without=without)
        assert found == status
        if status == 426:
            assert (headers["upgrade"], headers["sec-websocket-version"]) == ("websocket", "13")
    assert acme.Websocket.list() == [] or status == 101


def test_the_lab_s_own_origin_is_allowed(acme: Solution) -> None:
    for origin in (acme.url(), acme.url().upper()):
        with raw(acme, "/live", f"Origin: {origin}") as client:
            client.send(frame(TEXT, b"a"))
            assert client.frame() == (TEXT, b"a")


def test_http_1_0_cannot_upgrade(acme: Solution) -> None:
    with raw(acme, None) as client:
        assert client.shake("/live", first="GET {} HTTP/1.0")[0] == 426


def test_other_methods_and_paths_do_not_upgrade(acme: Solution) -> None:
    with raw(acme, None) as client:
        assert client.shake("/live", first="POST {} HTTP/1.1")[0] == 405
        assert client.shake("/nowhere")[0] == 404
        assert client.shake("/live")[0] == 101  # on the same connection


def test_frames_behind_the_handshake_wait_for_its_answer(acme: Solution) -> None:
    with raw(acme, None) as client:
        assert client.shake("/live", after=frame(TEXT, b"early") + frame(TEXT, b"bird"))[0] == 101
        assert [client.frame(), client.frame()] == [(TEXT, b"early"), (TEXT, b"bird")]


def test_requests_behind_a_refused_handshake_are_answered(acme: Solution) -> None:
    with raw(acme, None) as client:
        request = f"GET /live HTTP/1.1\r\nHost: {acme.domain}\r\n\r\n".encode()
        assert client.shake("/nowhere", after=request * 2)[0] == 404
        assert [client.head()[0], client.head()[0]] == [426, 426]


@pytest.mark.parametrize("data", [b"", b"a", ODD, b"x" * 125, b"x" * 126, b"x" * 65535, b"x" * 65536])
@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_messages_come_back(acme: Solution, data: bytes, piece: int) -> None:
    if piece == 1 and len(data) > 1000:
        piece = 1000
    with raw(acme) as client:
        for opcode in (TEXT, BINARY):
            sent = frame(opcode, data)
            for at in range(0, len(sent), piece):
                client.send(sent[at : at + piece])
            back, found = client.frame()
            assert found == data
            assert back == opcode


def test_a_message_in_fragments_with_a_ping_between(acme: Solution) -> None:
    with raw(acme) as client:
        client.send(frame(TEXT, ODD[:1], fin=False) + frame(0, b"", fin=False) + frame(PING, b"are you"))
        assert client.frame() == (PONG, b"are you")
        client.send(frame(0, ODD[1:]))
        assert client.frame() == (TEXT, ODD)


@pytest.mark.parametrize("size", [MESSAGE_LIMIT, MESSAGE_LIMIT + 1])
@pytest.mark.parametrize("parts", [1, 3])
def test_the_largest_message(acme: Solution, size: int, parts: int) -> None:
    with raw(acme) as client:
        data = b"x" * size
        third = size // parts
        for number in range(parts):
            end = size if number == parts - 1 else third * (number + 1)
            part = frame(0 if number else BINARY, data[third * number : end], fin=number == parts - 1)
            try:
                client.send(part)
            except OSError:  # the server has ended it
                break
        if size == MESSAGE_LIMIT:
            assert client.frame() == (BINARY, data)
        else:
            assert client.closed() in (1009, 1006)  # the rest of the message may reset the connection


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (frame(TEXT, b"a", mask=False), 1002),
        (frame(CLOSE, b"\x03\xe8", mask=False), 1002),
        (frame(TEXT, b"ok") + frame(TEXT, b"a", mask=False), 1002),
        (frame(TEXT, b"a", rsv=4), 1002),  # compressed, which was not agreed on
        (frame(TEXT, b"a", rsv=1), 1002),
        (frame(3, b"a"), 1002),
        (frame(11, b""), 1002),
        (frame(0, b"a"), 1002),  # goes on with nothing
        (frame(TEXT, b"a", fin=False) + frame(TEXT, b"b"), 1002),
        (frame(PING, b"a", fin=False), 1002),
        (frame(PING, b"x" * 126), 1002),
        (frame(CLOSE, b"x"), 1002),
        (frame(CLOSE, (999).to_bytes(2, "big")), 1002),
        (frame(CLOSE, (1005).to_bytes(2, "big")), 1002),
        (frame(CLOSE, b"\x03\xe8\xff"), 1007),
        (frame(TEXT, b"\xff"), 1007),
        (frame(TEXT, b"\xed\xa0\x80"), 1007),  # a surrogate
        (bytes([0x81, 0xFF]) + b"\xff" * 8 + b"mask", 1009),
    ],
)
def test_wrong_frames_end_it(lab: Lab, acme: Solution, sent: bytes, code: int) -> None:
    with raw(acme) as client, raw(acme) as other:
        client.send(sent)
        assert client.closed() == code
        if code != 1009:  # else this is still part of the message
            client.send(frame(CLOSE, b"\x03\xe8"))
            assert client.ended()
        other.send(frame(TEXT, b"still here"))
        assert other.frame() == (TEXT, b"still here")
        lab.settle()
        assert steps(acme).count("close") == 1
    ends = [each for each in lab.journal if "ended" in each.summary]
    assert (ends[0].detail or {})["code"] == code


@pytest.mark.parametrize(
    ("data", "code"), [(b"\x03\xe8bye \xc3\xa9", 1000), (b"\x0f\xa0", 4000), (b"", 1000)]
)
def test_a_client_ends_it(lab: Lab, acme: Solution, data: bytes, code: int) -> None:
    with raw(acme) as client:
        client.send(frame(TEXT, b"a") + frame(CLOSE, data) + frame(TEXT, b"too late"))
        assert client.closed() == code
        assert client.ended()
    lab.settle()
    assert steps(acme) == ["open", "data", "close"]
    assert acme.Websocket.list() == []


def test_a_flood_is_read_as_it_is_handled(acme: Solution) -> None:
    count = 5_000
    with raw(acme) as client:
        client.send(frame(TEXT, b"") * count + frame(TEXT, b"last"))
        found = [client.frame() for _ in range(count + 1)]
    assert found == [(TEXT, b"")] * count + [(TEXT, b"last")]


def test_bounds_are_followed_in_any_pieces() -> None:
    data = frame(TEXT, b"x" * 300, fin=False) + frame(PING, b"") + frame(0, b"y" * 70_000) + frame(CLOSE, b"")
    for piece in (1, 2, 3, 5, 1000, len(data)):
        bounds = FrameBounds()
        for at in range(0, len(data), piece):
            bounds.follow(data[at : at + piece])
        assert not bounds.is_within
        assert bounds.closes
    with pytest.raises(UnmaskedError):
        FrameBounds().follow(frame(TEXT, b"a") + frame(TEXT, b"b", mask=False))
    with pytest.raises(UnmaskedError):
        FrameBounds().follow(b"\x81\x05")
    for part in (b"\x81", b"\x81\xfe", b"\x81\x81mas", frame(TEXT, b"ab")[:-1], frame(TEXT, b"", fin=False)):
        bounds = FrameBounds()
        bounds.follow(part)
        assert bounds.is_within


def test_an_idle_websocket_has_no_task(lab: Lab, acme: Solution) -> None:
    async def tasks() -> int:
        import asyncio

        return len(asyncio.all_tasks())

    before = lab._runtime.run(tasks)
    clients = [RawSocket(acme) for _ in range(20)]
    for each in clients:
        assert each.shake("/live")[0] == 101
    lab.settle()
    assert lab._runtime.run(tasks) == before
    for each in clients:
        each.close()
