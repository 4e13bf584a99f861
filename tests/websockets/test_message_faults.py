"""Faults of single messages of websockets."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from labkit import Lab, SettingsError
from labkit.hunt.faults.sites import sites_of
from labkit.lab.solution import Solution
from labkit.lab.websocket import OpenWebsocket
from tests.websockets.rig import CLOSE, TEXT, frame, ids, raw, steps

ODD = "é e\u0301 \0 😀 \u2028"


def exchanged(acme: Solution, *texts: str) -> tuple[list[str | bytes], int | None]:
    """Send texts on a websocket of its own; return what comes back, and the code if it has ended."""
    with acme.websocket("/live") as socket:
        for text in texts:
            socket.send(text)
        return socket.messages(), socket.close_code


@pytest.mark.parametrize(
    ("direction", "action", "expected"),
    [
        ("received", {"lost": True}, (["c"], None)),
        ("sent", {"lost": True}, (["c"], None)),
        ("received", {"doubled": True}, (["b", "b", "c"], None)),
        ("sent", {"doubled": True}, (["b", "b", "c"], None)),
        ("received", {"cut": "before"}, ([], 1006)),
        ("received", {"cut": "after"}, (["b"], 1006)),
        ("sent", {"cut": "before"}, ([], 1006)),
        ("sent", {"cut": "after"}, (["b"], 1006)),
        ("sent", {"cut": "inside"}, ([], 1006)),
    ],
)
def test_each_action(
    lab: Lab, acme: Solution, direction: str, action: dict[str, Any], expected: tuple[list[str], int | None]
) -> None:
    fault = lab.faults.add(f"WEBSOCKET /live {direction}", if_given={".": "b"}, first=1, **action)
    with acme.websocket("/live") as socket:
        socket.send("b")
        found = socket.messages()
        if socket.close_code is None:
            socket.send("c")
            found += socket.messages()
        assert (found, socket.close_code) == expected
    assert fault.hits == 1
    lab.settle()
    assert ids(acme) == []
    assert steps(acme)[-1] == "close"


def test_the_journal_shows_them(lab: Lab, acme: Solution) -> None:
    lab.faults.add("websocket /live received", name="odd", if_given={".": "*e\u0301*"}, lost=True)
    assert exchanged(acme, "a", ODD, "b") == (["a", "b"], None)
    hit, *others = lab.journal.select("fault")
    assert (hit.actor, hit.summary, others) == ("acme", "odd: lost, if_given .", [])
    [received] = [each for each in lab.journal.select("message") if each.sequence == hit.cause]
    assert (received.summary, received.size) == ("WEBSOCKET /live received text", len(ODD.encode()))


def test_a_delayed_message_keeps_those_behind_it(lab: Lab, acme: Solution) -> None:
    fault = lab.faults.add("WEBSOCKET /live received", delay=60, first=1)
    with acme.websocket("/live") as socket, acme.websocket("/live") as other:
        for text in ("a", "b"):
            socket.send(text)
        other.send("c")
        assert (socket.messages(), other.messages()) == ([], ["c"])
        lab.clock.advance(seconds=59)
        assert socket.messages() == []
        lab.clock.advance(seconds=1)
        assert socket.messages() == ["a", "b"]
    assert fault.hits == 1


def test_a_delayed_answer_delays_the_script_alone(lab: Lab, acme: Solution) -> None:
    lab.faults.add("WEBSOCKET /live sent", delay=60, first=1)
    with acme.websocket("/live") as socket:
        [id] = ids(acme)
        socket.send("a")
        assert socket.messages() == []
        acme.Websocket.send(socket_id=id, message="between")
        assert socket.messages() == ["between"]
        lab.clock.advance(minutes=1)
        assert socket.messages() == ["a"]


def test_a_client_that_has_left_meanwhile(lab: Lab, acme: Solution) -> None:
    lab.faults.add("WEBSOCKET /live *", delay=60)
    with acme.websocket("/live") as socket:
        socket.send("a")
        socket.messages()
    lab.clock.advance(minutes=5)
    assert steps(acme) == ["open", "data", "close"]
    assert not lab.journal.select("error")


def test_a_cut_within_a_frame_reaches_the_client(lab: Lab, acme: Solution) -> None:
    lab.faults.add("WEBSOCKET /live sent", cut="inside")
    for size in (10, 1000, 70_000):
        with raw(acme) as client:
            client.send(frame(TEXT, b"x" * size))
            client._more()
            assert client._data[0] == 0x80 | TEXT
            assert client.frame() == (-1, b"")


def test_two_tenants_and_paths(lab: Lab, acme: Solution) -> None:
    other = lab.solution("other")
    for solution in (acme, other):
        for path in ("/hall", "/rooms/{room}"):
            solution.route("WEBSOCKET", path, lua="return websocketInfo.message", replace=True)
    fault = lab.faults.add("WEBSOCKET /rooms/* received", solution="acme", lost=True)
    for solution, path, lost in (
        (acme, "/rooms/%C3%A9", True),
        (acme, "/hall", False),
        (other, "/rooms/1", False),
    ):
        with solution.websocket(path) as socket:
            socket.send("a")
            assert socket.messages() == ([] if lost else ["a"])
    assert fault.hits == 1


@pytest.mark.parametrize(
    ("where", "settings", "message"),
    [
        ("WEBSOCKET /live received", {"cut": "inside"}, "inside is for messages that are sent"),
        ("WEBSOCKET /live *", {"cut": "inside"}, "inside is for messages that are sent"),
        ("WEBSOCKET /live sent", {"status": 500}, "status: is not for a message"),
        ("WEBSOCKET /live sent", {"late": 5}, "late: is not for a message"),
        ("WEBSOCKET /live sent", {"lost": True, "doubled": True}, "lost cannot go with doubled"),
        (
            "WEBSOCKET /live sent",
            {"lost": True, "cut": "after"},
            "cut cannot go with lost|lost cannot go with cut",
        ),
        ("WEBSOCKET /live sent", {"product": "a", "lost": True}, "product: is not for a message"),
        ("WEBSOCKET /live", {"lost": True}, "lost: is not for a request"),
    ],
)
def test_what_is_impossible(lab: Lab, where: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        lab.faults.add(where, **settings)


def test_a_seed_repeats_them_and_a_hunt_finds_their_places() -> None:
    def story(seed: int) -> tuple[str, list[str | bytes]]:
        with Lab(seed=seed) as lab:
            acme = lab.solution("acme")
            acme.route("WEBSOCKET", "/rooms/{room}", lua="return websocketInfo.message")
            lab.faults.add("WEBSOCKET /rooms/* received", chance=0.5, lost=True)
            lab.faults.add("WEBSOCKET /rooms/* sent", chance=0.5, delay=(1, 5))
            found: list[str | bytes] = []
            sockets: dict[int, OpenWebsocket] = {}
            began = lab.clock.time
            with lab.story():

                def begin(room: int) -> None:
                    sockets[room] = acme.websocket(f"/rooms/{room}")
                    for count in range(8):
                        sockets[room].send(f"{room} {count}")

                for number in range(2):
                    lab.at(number, partial(begin, number))
                lab.at(
                    100, lambda: found.extend(each for room in range(2) for each in sockets[room].messages())
                )
                lab.clock.advance(minutes=3)
            sites = sites_of(lab.journal.canonical(), began, 100)
            assert [each.where for each in sites.messages] == [
                "WEBSOCKET /rooms/* received",
                "WEBSOCKET /rooms/* sent",
            ]
            assert {each.solution for each in sites.messages} == {"acme"}
            return lab.journal.canonical(), found

    first = story(3)
    assert first == story(3)
    assert 0 < len(first[1]) < 16
    assert story(4)[1] != first[1]


def test_no_close_frame_is_lost(lab: Lab, acme: Solution) -> None:
    lab.faults.add("WEBSOCKET /live *", lost=True)
    with raw(acme) as client:
        client.send(frame(TEXT, b"a") + frame(CLOSE, b"\x03\xe8"))
        assert client.frame() == (CLOSE, b"\x03\xe8")
    lab.settle()
    assert steps(acme) == ["open", "close"]
