"""Websockets of solutions: scripts in Lua and Python, the service, and what ends them."""

from __future__ import annotations

import pytest

from labkit import Lab, LabError
from labkit.lab.solution import Solution
from tests.websockets.rig import LUA

ODD = "é e\u0301 \0 😀 \u2028"


def test_an_async_function_answers(lab: Lab) -> None:
    solution = lab.solution("functions")

    @solution.route("WEBSOCKET", "/async", replace=True)
    async def talk(websocket_info, response, services, log, now, context):  # type: ignore[no-untyped-def]
        if websocket_info.type == "open":
            await websocket_info.send({"hello": websocket_info.parameters})
        elif websocket_info.message == "bye":
            await websocket_info.close()
        elif websocket_info.type == "data":
            await services.Websocket.send(socket_id=websocket_info.socket_id, message=websocket_info.message)
            response.message = [context["service"], context["event"]]

    with solution.websocket("/async?a=1&a=2") as socket:
        assert socket.receive() == '{"hello": {"a": ["1", "2"]}}'
        for sent in (ODD, b"\x00\x01"):
            socket.send(sent)
            assert socket.receive() == sent
            assert socket.receive() == '["websocket", "websocket_info"]'
        socket.send("bye")
        lab.settle()
        assert socket.close_code == 1000


def test_a_sync_function_answers(lab: Lab) -> None:
    solution = lab.solution("functions")

    @solution.route("WEBSOCKET", "/sync", replace=True)
    def talk(websocketInfo):  # type: ignore[no-untyped-def]
        if websocketInfo.type == "data":
            websocketInfo.send(websocketInfo.message)
            return bytes([1]) if websocketInfo.message == b"\xff" else 5
        return None

    with solution.websocket("/sync") as socket:
        socket.send("a")
        assert [socket.receive(), socket.receive()] == ["a", "5"]
        socket.send(b"\xff")
        assert [socket.receive(), socket.receive()] == [b"\xff", b"\x01"]


def test_a_function_may_not_ask_for_a_request(lab: Lab) -> None:
    with pytest.raises(LabError, match="websocket_info"):
        lab.solution("functions").route("WEBSOCKET", "/x", lambda request: None)


@pytest.mark.parametrize(
    ("lua", "message"),
    [
        ("return 1.5", "1.5"),
        ("return true", "true"),
        ("return {}", "{}"),
        ("return {1, nil, 3}", None),
        ("response = {message = 'own table'}", "own table"),
        ("response.body = 'body'", "body"),
        ("response.message = 'm' response.body = 'b'", "m"),
        ("response.code = 404", None),
        ("return function() end", None),
        ("response = 5", None),
    ],
)
def test_what_goes_back(lab: Lab, lua: str, message: str | None) -> None:
    solution = lab.solution("returning")
    solution.route("WEBSOCKET", "/x", lua=f"if websocketInfo.type == 'data' then {lua} end", replace=True)
    with solution.websocket("/x") as socket:
        socket.send("a")
        if message is not None:
            assert socket.receive() == message
        socket.send("b")  # it is open still
        lab.settle()
        assert socket.close_code is None


def test_methods_of_the_info_are_none_of_its_fields(lab: Lab) -> None:
    solution = lab.solution("returning")
    lua = """if websocketInfo.type ~= "data" then return end
    local names = {}
    for name in pairs(websocketInfo) do names[#names + 1] = name end
    table.sort(names)
    websocketInfo:send("with a colon")
    return {names = names, json = to_json(websocketInfo) ~= nil, same = websocketInfo == websocket_info}"""
    solution.route("WEBSOCKET", "/x", lua=lua, replace=True)
    with solution.websocket("/x") as socket:
        socket.send("a")
        assert socket.receive() == "with a colon"
        assert socket.receive() == (
            '{"json": true, "names": ["headers", "ip", "message", "message_type", "parameters", "route", '
            '"server_ip", "socket_id", "timestamp", "type", "uri"], "same": true}'
        )


def test_the_journal(lab: Lab, acme: Solution) -> None:
    with acme.websocket("/live") as socket:
        socket.send("é")
        assert socket.receive() == "é"
    lab.settle()
    records = list(lab.journal)
    [begun] = [each for each in records if each.kind == "request"]
    assert (begun.summary, begun.status, begun.actor) == ("WEBSOCKET /live", 101, "acme")
    messages = [each for each in records if each.kind == "message"]
    assert [(each.summary, each.size, each.cause) for each in messages] == [
        ("WEBSOCKET /live received text", 2, begun.sequence),
        ("WEBSOCKET /live sent text", 2, begun.sequence),
        ("WEBSOCKET /live ended", None, begun.sequence),
    ]
    assert {(each.detail or {})["socket_id"] for each in [begun, *messages]} == {
        (begun.detail or {})["socket_id"]
    }
    assert "é" not in str([each.detail for each in messages])
    runs = [each.cause for each in records if each.kind == "script"]
    assert runs == [begun.sequence, messages[0].sequence, begun.sequence]


def test_the_journal_shows_messages_if_it_shows_values() -> None:
    with Lab(seed=7, journal={"values": True}) as lab:
        acme = lab.solution("acme")
        acme.route("WEBSOCKET", "/live", lua=LUA)
        with acme.websocket("/live") as socket:
            socket.send(ODD)
            socket.receive()
        shown = [(each.detail or {}).get("message") for each in lab.journal.select("message")]
    assert shown[:2] == [ODD, ODD]


def test_a_waiting_websocket_lets_time_pass(lab: Lab, acme: Solution) -> None:
    with acme.websocket("/live") as socket:
        before = lab.clock.time
        lab.clock.advance(days=2)
        assert lab.clock.time - before == 2 * 86400
        socket.send("a")
        assert socket.receive() == "a"
        with pytest.raises(LabError, match="stands still"):
            socket.receive()


def test_a_handled_message_holds_the_clock(lab: Lab, acme: Solution) -> None:
    lab.faults.add("Keystore.get", delay=60)

    @acme.route("WEBSOCKET", "/waits", replace=True)
    async def waits(websocket_info, services, now):  # type: ignore[no-untyped-def]
        if websocket_info.type == "data":
            await services.Keystore.get(key="a")
            return now()
        return None

    with acme.websocket("/waits") as socket:
        begun = lab.clock.time
        socket.send("a")
        assert socket.messages() == []
        lab.clock.advance(hours=1)
        assert float(socket.receive()) == begun + 60
