"""Websockets of solutions under faults, with cookies, in stories and in fleets."""

from __future__ import annotations

from functools import partial

import pytest

from labkit import Lab, LabError, WebsocketError
from labkit.lab.solution import Solution
from tests.websockets.rig import LUA

ODD = "é e\u0301 \0 😀 \u2028"


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
