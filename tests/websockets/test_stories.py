"""Websockets of solutions under faults, with cookies, in stories and in fleets."""

from __future__ import annotations

from functools import partial

import pytest

from labkit import Lab, LabError, WebsocketError
from labkit.lab.solution import Solution
from tests.websockets.rig import LUA, ids, steps

ODD = "é e\u0301 \0 😀 \u2028"


def test_lua_answers(acme: Solution) -> None:
    with acme.websocket("/live") as socket:
        for sent in ("a", ODD, "", b"\xff\x00"):
            socket.send(sent)
            assert socket.receive() == sent
        assert socket.messages() == []
        assert socket.close_code is None
    assert acme.Websocket.list() == []
    assert steps(acme) == ["open", *["data"] * 4, "close"]


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
            '{"json": true, "names": ["headers", "ip", "message", "parameters", "route", "server_ip", "socket_id", '
            '"type", "uri"], "same": true}'
        )


def test_two_solutions_do_not_reach_each_other(lab: Lab, acme: Solution) -> None:
    other = lab.solution("other")
    other.route("WEBSOCKET", "/live", lua=LUA, replace=True)
    with acme.websocket("/live") as ours, other.websocket("/live") as theirs:
        lab.settle()
        [mine], [foreign] = ids(acme), ids(other)
        assert mine != foreign
        found = acme.call("Websocket", "send", {"socket_id": foreign, "message": "a"})
        assert (found["status"], found["type"]) == (404, "QueryError")
        found = acme.call("Websocket", "close", {"socket_id": foreign})
        assert found["status"] == 404
        other.Websocket.send(socket_id=foreign, message="to theirs")
        assert theirs.receive() == "to theirs"
        assert ours.messages() == []


def test_an_ended_id_is_500_and_an_unknown_one_404(lab: Lab, acme: Solution) -> None:
    with acme.websocket("/live"):
        lab.settle()
        [id] = ids(acme)
    for operation, given in (("send", {"message": "a"}), ("close", {})):
        found = acme.call("Websocket", operation, {"socket_id": id, **given})
        assert (found["status"], found["type"]) == (500, "ServerError")
        found = acme.call("Websocket", operation, {"socket_id": id[:-1], **given})
        assert (found["status"], found["type"]) == (404, "QueryError")


def test_several_at_once_keep_their_order(acme: Solution) -> None:
    sockets = [acme.websocket("/live") for _ in range(10)]
    for number in range(20):
        for place, each in enumerate(sockets):
            each.send(f"{place} {number}")
    for place, each in enumerate(sockets):
        assert each.messages() == [f"{place} {number}" for number in range(20)]
        each.close()


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


def test_an_error_of_a_script_ends_nothing(lab: Lab, acme: Solution) -> None:
    with acme.websocket("/live") as socket:
        socket.send("fail")
        socket.send("go on")
        assert socket.messages() == ["go on"]
    failed = [each for each in lab.journal.select("script") if each.status == 500]
    assert [each.summary for each in failed] == ["WEBSOCKET /live"]


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


def test_faults_of_the_handshake(lab: Lab, acme: Solution) -> None:
    fault = lab.faults.add("WEBSOCKET /live", status=503, first=1)
    with pytest.raises(WebsocketError, match="answered 503") as refused:
        acme.websocket("/live")
    assert refused.value.status == 503
    with acme.websocket("/live") as socket:
        socket.send("a")
        assert socket.receive() == "a"
    assert fault.hits == 1
    lab.faults.clear()
    lab.faults.add("WEBSOCKET /live", if_status=101, status=502)
    with pytest.raises(WebsocketError, match="answered 502"):
        acme.websocket("/live")
    lab.faults.clear()
    lab.faults.add("GET /live", status=500)  # which it is not
    with acme.websocket("/live"):
        assert acme.get("/live").status_code == 500
    lab.faults.clear()
    lab.faults.add("WEBSOCKET /live", cut="before")
    with pytest.raises(WebsocketError):
        acme.websocket("/live")
    lab.faults.clear()
    lab.faults.add("Websocket.send", status=503)
    assert acme.call("Websocket", "send", {"socket_id": "a", "message": "b"})["status"] == 503


def test_cookies_of_a_session(lab: Lab) -> None:
    solution = lab.solution("returning")
    solution.route("GET", "/login", lua="response.headers['Set-Cookie'] = 'sid=a1'", replace=True)
    lua = "if websocketInfo.type == 'open' then return tostring(websocketInfo.headers.cookie) end"
    solution.route("WEBSOCKET", "/mine", lua=lua, replace=True)
    session = solution.session()
    session.get("/login")
    with session.websocket("/mine") as socket, solution.websocket("/mine") as other:
        assert (socket.receive(), other.receive()) == ("sid=a1", "nil")


def test_a_story_and_its_replay() -> None:
    def story() -> tuple[str, list[object]]:
        found: list[object] = []
        with Lab(seed=11) as lab:
            acme = lab.solution("acme")
            acme.route("WEBSOCKET", "/live", lua=LUA)
            acme.route(
                "POST",
                "/push",
                lua="return Websocket.send{socket_id = Websocket.list()[1], message = request.body}",
            )
            with lab.story():

                def person(number: int) -> None:
                    with acme.websocket("/live") as socket:
                        for count in range(5):
                            socket.send(f"{number} {count}")
                            found.append(socket.receive())

                for number in range(3):
                    lab.at(number * 0.001, partial(person, number))
                with acme.websocket("/live") as socket:
                    lab.at(100, lambda: acme.post("/push", json="pushed"))
                    found.append(socket.receive())
                    found.append(round(lab.clock.time % 1000))
                    with pytest.raises(LabError, match="nothing is due"):
                        socket.receive()
            return lab.journal.canonical(), found

    assert story() == story()
    _, found = story()
    assert found[-2:] == ["pushed", (1767225600 + 100) % 1000]
    assert sorted(map(str, found[:-2])) == sorted(
        f"{number} {count}" for number in range(3) for count in range(5)
    )


def test_a_person_of_a_fleet() -> None:
    def run() -> tuple[str, list[tuple[int, list[str | bytes]]]]:
        from labkit import Behaviour

        found: list[tuple[int, list[str | bytes]]] = []
        with Lab(seed=3) as lab:
            product = lab.product("lamp", resources={"on": "string"})
            acme = lab.solution("acme", products=[product])
            acme.route("WEBSOCKET", "/live", lua=LUA)
            acme.on(
                "device",
                "datapoint",
                lua="for _, id in ipairs(Websocket.list()) do Websocket.send{socket_id = id, message = data.alias} end",
            )

            class Person(Behaviour):
                async def run(self, device):  # type: ignore[no-untyped-def]
                    await device.activate()
                    socket = await acme.websocket_here("/live")
                    for count in range(3):
                        await device.sleep(10)
                        await device.write(on=f"{device.number}.{count}")
                        await socket.send_here(f"{device.number} says {count}")
                        found.append((device.number, await socket.messages_here()))

            product.fleet(3, Person()).run(minutes=2)
            return lab.journal.canonical(), found

    first, second = run(), run()
    assert first == second
    assert all(f"{number} says" in str(messages) for number, messages in first[1])
