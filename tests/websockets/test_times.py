"""Guard times of websockets, in real time: pings, incomplete messages, clients that do not read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from labkit import Lab
from labkit.lab.solution import Solution
from tests.websockets.rig import CLOSE, LUA, PING, PONG, TEXT, frame, raw

SOON = 0.05  # seconds


@contextmanager
def served(*, seed: int | None = None, **guard: Any) -> Iterator[tuple[Lab, Solution]]:
    with Lab(seed=seed, guard=guard) as lab:
        acme = lab.solution("acme")
        acme.route("WEBSOCKET", "/live", lua=LUA)
        yield lab, acme


def ends(lab: Lab) -> list[tuple[int, str]]:
    return [
        ((each.detail or {})["code"], (each.detail or {})["reason"])
        for each in lab.journal.select("message")
        if each.summary.endswith("ended")
    ]


def test_a_silent_client_is_pinged_and_stays_if_it_answers() -> None:
    with served(ping=SOON, keep_alive=SOON, header=SOON) as (lab, acme), raw(acme) as client:
        for _ in range(3):
            assert client.frame() == (PING, b"")
            client.send(frame(PONG))
        client.send(frame(TEXT, b"still here"))
        while (found := client.frame())[0] == PING:
            client.send(frame(PONG))
        assert found == (TEXT, b"still here")
        assert ends(lab) == []


def test_a_client_that_answers_no_ping_is_ended() -> None:
    with served(ping=SOON) as (lab, acme), raw(acme) as client:
        assert client.frame() == (PING, b"")
        assert client.ended()
        lab.settle()
        assert ends(lab) == [(1006, "no answer to a ping within 0.05 s")]
        assert acme.Websocket.list() == []


def test_a_missing_pong_ends_nothing_on_a_virtual_clock() -> None:
    with (
        served(seed=7, ping=SOON / 10, body=4 * SOON) as (_, acme),
        raw(acme) as client,
        raw(acme) as timer,
    ):
        timer.send(frame(TEXT, b"half", fin=False))
        assert timer.closed() == 1008  # by then many pings would have been sent
        client.send(frame(TEXT, b"a"))
        assert client.frame() == (TEXT, b"a")


@pytest.mark.parametrize(
    "part", [b"\x81", b"\x81\xfe\x01", frame(TEXT, b"abc")[:-1], frame(TEXT, b"abc", fin=False)]
)
def test_an_incomplete_message_is_ended(part: bytes) -> None:
    with served(seed=7, body=SOON) as (lab, acme), raw(acme) as client:
        client.send(part)
        assert client.closed() == 1008
        lab.settle()
        assert ends(lab) == [(1008, "a message was not whole within 0.05 s")]


def test_a_client_that_does_not_answer_a_close_frame_is_cut_off() -> None:
    with served(seed=7, body=SOON) as (lab, acme), raw(acme) as client:
        client.send(frame(TEXT, b"bye"))
        assert client.closed() == 1000
        assert client.ended()
        assert ends(lab) == [(1000, "closed by the solution")]


def test_a_client_that_does_not_read_is_cut_off() -> None:
    lua = """if websocketInfo.type ~= "data" then return end
    local large = string.rep("x", 2 ^ 20)
    for i = 1, 40 do
      local found = websocketInfo.send(large)
      if found.error then Keystore.set{key = "found", value = found.status} return end
    end"""
    with served(seed=7, reader=4 * SOON) as (lab, acme):
        acme.route("WEBSOCKET", "/much", lua=lua)
        with raw(acme, "/much") as client:
            client.send(frame(TEXT, b"a"))
            with acme.websocket("/live") as other:
                while not ends(lab):  # the lab goes on meanwhile
                    other.send("a")
                    assert other.receive() == "a" if not ends(lab) else True
                    other.messages()
        lab.settle()
        assert acme.Keystore.get(key="found")["value"] == "500"
        assert lab.journal.select("refused")[-1].summary == "answer not taken"


def test_a_slow_reader_gets_everything() -> None:
    lua = """if websocketInfo.type ~= "data" then return end
    local large = string.rep("x", 2 ^ 20)
    for i = 1, 20 do websocketInfo.send(large) end
    return "the last" """
    with served(seed=7) as (_, acme):
        acme.route("WEBSOCKET", "/much", lua=lua)
        with raw(acme, "/much") as client:
            client.send(frame(TEXT, b"a") + frame(PING, b"between"))
            found = [client.frame() for _ in range(22)]
        texts = [data for opcode, data in found if opcode == TEXT]
        assert texts == [b"x" * 2**20] * 20 + [b"the last"]
        assert CLOSE not in [opcode for opcode, _ in found]
