"""The number of websockets that the clients of a solution may have open."""

from __future__ import annotations

import pytest

from labkit import Lab, SettingsError, WebsocketError
from tests.websockets.rig import LUA, raw


def test_one_more_is_refused_until_one_ends() -> None:
    settings = {"Webservice": {"websockets": 2}}
    with Lab(seed=7) as lab:
        acme = lab.solution("acme", services=settings)
        other = lab.solution("other")
        for each in (acme, other):
            each.route("WEBSOCKET", "/live", lua=LUA)
        sockets = [acme.websocket("/live") for _ in range(2)]
        for _ in range(2):
            with pytest.raises(WebsocketError, match="answered 503"):
                acme.websocket("/live")
        with other.websocket("/live") as free, other.websocket("/live"), other.websocket("/live"):
            free.send("a")
            assert free.receive() == "a"
        refused = [each for each in lab.journal.select("request") if each.status == 503]
        assert [each.summary for each in refused] == ["WEBSOCKET /live"] * 2
        reason = "2 websockets of this solution are open (services.webservice.websockets)"
        assert [(each.detail or {})["reason"] for each in refused] == [reason] * 2
        sockets[0].close()
        sockets.append(acme.websocket("/live"))
        for socket in sockets[1:]:
            socket.send("still here")
            assert socket.receive() == "still here"
            socket.close()


def test_a_client_that_vanishes_frees_its_place() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme", services={"Webservice": {"websockets": 1}})
        acme.route("WEBSOCKET", "/live", lua=LUA)
        with raw(acme) as client:
            client.send(b"\x81\xfe")  # half a frame
        lab.settle()
        with acme.websocket("/live") as socket:
            socket.send("a")
            assert socket.receive() == "a"


@pytest.mark.parametrize("wrong", [-1, "many", 1.5])
def test_a_wrong_number_names_its_setting(wrong: object) -> None:
    with Lab(seed=7) as lab, pytest.raises(SettingsError, match=r"services\.webservice: websockets"):
        lab.solution("acme", services={"webservice": {"websockets": wrong}})
