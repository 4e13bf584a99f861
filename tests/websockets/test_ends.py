"""Ends of websockets, and what a script learns of it."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from labkit import Lab, WebsocketError
from labkit.bench.websocket_load import handshake
from labkit.lab.solution import Solution
from tests.guard import PATIENCE
from tests.websockets.rig import CLOSE, LUA, TEXT, frame, ids, raw, steps


def test_a_client_leaves_while_its_message_is_handled(lab: Lab, acme: Solution) -> None:
    going = threading.Event()
    entered = threading.Event()

    @acme.route("WEBSOCKET", "/slow", replace=True)
    def slow(websocket_info, services):  # type: ignore[no-untyped-def]
        if websocket_info.type == "data":
            entered.set()
            assert going.wait(PATIENCE)
            found = services.Websocket.send(socket_id=websocket_info.socket_id, message="too late")
            services.Keystore.set(key="found", value=found["status"])
            return "too late, too"
        return None

    with raw(acme, "/slow") as client:
        client.send(frame(TEXT, b"a") + frame(TEXT, b"b"))
        assert entered.wait(PATIENCE)
        client.send(frame(CLOSE, b"\x03\xe8"))
        assert client.closed() == 1000
        going.set()
    lab.settle()
    assert acme.Keystore.get(key="found")["value"] == "500"
    assert [each.status for each in lab.journal.select("script")] == [204, 200, 200, 204]
    assert not lab.journal.select("error")


def test_reload_lets_the_new_script_answer(tmp_path: Path) -> None:
    (tmp_path / "endpoints").mkdir()
    file = tmp_path / "endpoints" / "live.lua"
    file.write_text("--#ENDPOINT WEBSOCKET /live\nreturn 'old'")
    with Lab(seed=7) as lab:
        acme = lab.solution("acme", path=tmp_path)
        with acme.websocket("/live") as socket:
            assert socket.receive() == "old"
            file.write_text("--#ENDPOINT WEBSOCKET /live\nreturn 'new'")
            acme.reload()
            socket.send("a")
            assert socket.receive() == "new"
            file.write_text("--#ENDPOINT GET /live\nreturn 'none'")
            acme.reload()
            socket.send("a")
            lab.settle()
            assert socket.close_code == 1001
        assert acme.get("/live").text == "none"


def test_a_reset_ends_them(lab: Lab, acme: Solution) -> None:
    socket = acme.websocket("/live")
    lab.settle()
    [id] = ids(acme)
    lab.reset()
    assert socket.close_code == 1001
    assert ids(acme) == []
    assert acme.call("Websocket", "send", {"socket_id": id, "message": "a"})["status"] == 404
    assert steps(acme) == []  # no script has run
    with pytest.raises(WebsocketError, match="ended with code 1001"):
        socket.send("a")


def test_a_power_cut_ends_them_without_a_word(tmp_path: Path) -> None:
    with Lab(seed=7, data=tmp_path / "lab.db") as lab:
        acme = lab.solution("acme")
        acme.route("WEBSOCKET", "/live", lua=LUA)
        socket = acme.websocket("/live")
        lab.settle()
        runs = len(lab.journal.select("script"))
        lab.restart()
        assert socket.close_code == 1006
        assert ids(acme) == []
        assert len(lab.journal.select("script")) == runs
        with acme.websocket("/live") as again:
            again.send("a")
            assert again.receive() == "a"


def test_the_end_of_a_lab_says_1001() -> None:
    lab = Lab(seed=7)
    acme = lab.solution("acme")
    acme.route("WEBSOCKET", "/live", lua=LUA)
    with raw(acme) as client:
        client.send(frame(TEXT, b"a"))
        assert client.frame() == (TEXT, b"a")
        lab.close()
        assert client.closed() == 1001
        assert client.ended()


def test_a_snapshot_ends_them() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.route("WEBSOCKET", "/live", lua=LUA)
        socket = acme.websocket("/live")
        lab.settle()
        [id] = ids(acme)
        with raw(acme) as client:
            lab.settle()
            past = lab.snapshot()
            assert client.closed() == 1001
        assert socket.close_code == 1000
        assert ids(acme) == []
        lab.restore(past)
        acme = lab.solution("acme")
        assert acme.call("Websocket", "send", {"socket_id": id, "message": "a"})["status"] == 404
        with acme.websocket("/live") as another:
            another.send("a")
            assert another.receive() == "a"


def test_a_fork_ends_them() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.route("WEBSOCKET", "/live", lua=LUA)
        socket = acme.websocket("/live")

        def future(there: Lab, number: int) -> tuple[list[str], str | bytes, int | None]:
            before = ids(there.solution("acme"))
            with there.solution("acme").websocket("/live") as another:
                another.send("a")
                return before, another.receive(), socket.close_code

        assert [each.result for each in lab.fork(future, over=[1, 2])] == [([], "a", 1000)] * 2
        assert socket.close_code == 1000
        with acme.websocket("/live") as again:
            again.send("a")
            assert again.receive() == "a"


def test_a_client_of_the_plain_port_ends_it_with_its_input() -> None:
    with Lab(seed=7, http_port=0) as lab:
        acme = lab.solution("acme")
        acme.route("WEBSOCKET", "/live", lua=LUA)
        with socket.create_connection(("127.0.0.1", lab.http_port), timeout=30) as client:
            client.sendall(handshake(acme.domain, "/live").encode() + frame(TEXT, b"a"))
            assert b" 101 " in client.recv(65536)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        lab.settle()
        assert steps(acme) == ["open", "data", "close"]
