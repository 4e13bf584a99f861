"""The protocol of websockets (RFC 6455): close codes, control frames between fragments, and clients that vanish."""

from __future__ import annotations

import socket
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit import Lab
from labkit.lab.solution import Solution
from tests.websockets.rig import CLOSE, LUA, PING, PONG, TEXT, RawSocket, frame, ids, raw, steps

ODD = "é e\u0301 \0 😀 \u2028".encode()


def code_of(acme: Solution, code: int) -> int:
    """Return the close code that answers one of a client."""
    with raw(acme) as client:
        client.send(frame(CLOSE, code.to_bytes(2, "big") + b"why"))
        found = client.closed()
        assert client.ended()
        return found


@pytest.mark.parametrize("code", [*range(1000, 1004), *range(1007, 1015), 3000, 3999, 4000, 4999])
def test_a_valid_close_code_comes_back(acme: Solution, code: int) -> None:
    assert code_of(acme, code) == code


@pytest.mark.parametrize("code", [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535])
def test_an_invalid_close_code_is_an_error(lab: Lab, acme: Solution, code: int) -> None:
    assert code_of(acme, code) == 1002
    lab.settle()
    assert steps(acme) == ["open", "close"]


@pytest.mark.parametrize("size", [0, 1, 125])
def test_a_ping_comes_back(acme: Solution, size: int) -> None:
    with raw(acme) as client:
        client.send(frame(PING, b"\xff" * size) + frame(PONG, b"nobody asked") + frame(TEXT, b"a"))
        assert client.frame() == (PONG, b"\xff" * size)
        assert client.frame() == (TEXT, b"a")


def test_a_close_frame_between_fragments(lab: Lab, acme: Solution) -> None:
    with raw(acme) as client:
        client.send(frame(TEXT, b"half", fin=False) + frame(CLOSE, b"\x03\xe8"))
        assert client.closed() == 1000
        assert client.ended()
    lab.settle()
    assert steps(acme) == ["open", "close"]


def test_wrong_utf_8_over_fragments(lab: Lab, acme: Solution) -> None:
    with raw(acme) as client:
        client.send(frame(TEXT, b"\xc3", fin=False) + frame(PING) + frame(0, b"a"))
        assert client.frame() == (PONG, b"")
        assert client.closed() == 1007
    lab.settle()
    assert steps(acme) == ["open", "close"]


Messages = st.lists(
    st.tuples(st.text(max_size=200), st.integers(1, 5), st.booleans()), min_size=1, max_size=6
)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
@given(messages=Messages, piece=st.integers(1, 300))
def test_messages_in_any_fragments_and_pieces(
    acme: Solution, messages: list[tuple[str, int, bool]], piece: int
) -> None:
    sent, expected = b"", []
    for text, parts, pinged in messages:
        data = f"m{text}".encode("utf-8", "replace")
        bounds = [len(data) * number // parts for number in range(parts + 1)]
        for number in range(parts):
            part = data[bounds[number] : bounds[number + 1]]
            sent += frame(0 if number else TEXT, part, fin=number == parts - 1)
            if pinged:
                sent += frame(PING, bytes([number]))
        expected.append((TEXT, data))
    with raw(acme) as client:
        for at in range(0, len(sent), piece):
            client.send(sent[at : at + piece])
        found: list[tuple[int, bytes]] = []
        while len(found) < len(expected):
            opcode, data = client.frame()
            if opcode != PONG:
                found.append((opcode, data))
    assert found == expected


def reset(client: RawSocket) -> None:
    """End a connection by RST instead of FIN."""
    client._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client._socket.close()


@pytest.mark.parametrize(
    "part", [b"", b"\x81", b"\x81\xfe\x01", frame(TEXT, b"abc")[:-1], frame(TEXT, b"abc", fin=False)]
)
def test_a_reset_within_a_frame(lab: Lab, acme: Solution, part: bytes) -> None:
    other = acme.websocket("/live")
    client = RawSocket(acme)
    assert client.shake("/live")[0] == 101
    client.send(frame(TEXT, b"whole") + part)
    assert client.frame() == (TEXT, b"whole")
    reset(client)
    while len(ids(acme)) > 1:
        pass
    lab.settle()
    other.send("still here")
    assert other.receive() == "still here"
    other.close()
    lab.settle()
    assert sorted(steps(acme)) == ["close", "close", "data", "data", "open", "open"]
    ended = [each.detail or {} for each in lab.journal.select("message") if each.summary.endswith("ended")]
    assert [each["code"] for each in ended] == [1006, 1000]
    assert not lab.journal.select("error")


def test_a_client_that_sends_no_more_is_still_sent_to(acme: Solution) -> None:
    """The end of a client's input ends its websocket over TLS, where half a connection is none."""
    with raw(acme) as client:
        client.send(frame(TEXT, b"a"))
        assert client.frame() == (TEXT, b"a")
        client._socket.shutdown(socket.SHUT_WR)
        assert client.closed() == 1006
        while ids(acme):
            pass


def test_a_hundred_at_once() -> None:
    with Lab(seed=7) as lab:
        tenants = [lab.solution(name) for name in ("acme", "other")]
        for each in tenants:
            each.route("WEBSOCKET", "/live", lua=LUA)

        def converse(number: int) -> list[str]:
            with raw(tenants[number % 2]) as client:
                for count in range(5):
                    client.send(frame(TEXT, f"{number} {count} é".encode()))
                return [client.frame()[1].decode() for _ in range(5)]

        with ThreadPoolExecutor(100) as pool:
            found = list(pool.map(converse, range(100)))
        assert found == [[f"{number} {count} é" for count in range(5)] for number in range(100)]
        for each in tenants:
            while ids(each):
                pass
        lab.settle()
        assert [steps(each).count("close") for each in tenants] == [50, 50]
        assert not lab.journal.select("error")


def test_the_cpu_limit_of_a_handler_ends_its_run_alone() -> None:
    with Lab(seed=7, guard={"script_cpu": 0.05}) as lab:
        acme = lab.solution("acme")
        acme.route(
            "WEBSOCKET",
            "/live",
            lua="if websocketInfo.message == 'loop' then while true do end end return websocketInfo.type",
        )
        with acme.websocket("/live") as socket_, acme.websocket("/live") as other:
            assert socket_.receive() == "open"
            socket_.send("loop")
            socket_.send("a")
            assert socket_.receive() == "data"
            assert other.receive() == "open"
        failed = [each for each in lab.journal.select("script") if each.status not in (200, 204)]
        assert [(each.summary, each.status) for each in failed] == [("WEBSOCKET /live", 504)]
        assert "CPU limit" in str((failed[0].detail or {})["error"])


def test_odd_text_in_fragments_of_one_byte(acme: Solution) -> None:
    with raw(acme) as client:
        for number, byte in enumerate(ODD):
            client.send(frame(0 if number else TEXT, bytes([byte]), fin=number == len(ODD) - 1))
        assert client.frame() == (TEXT, ODD)
