"""The handler of the event `websocket websocket_info`, for websockets at paths without a route of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit import Lab, WebsocketError

HANDLER = """--#EVENT websocket websocket_info
Keystore.command{key = "types", command = "rpush", args = {websocketInfo.type}}
if websocket_info.message == "response" then response.message = "by response" return end
if websocket_info.message == "send" then websocketInfo.send("sent") return end
if websocket_info.message then return {route = websocketInfo.route, said = websocket_info.message} end
"""
ROUTES = """--#ENDPOINT WEBSOCKET /own
if websocketInfo.message then return "by the route" end

--#ENDPOINT GET /page
return "a page"
"""


def folder(tmp_path: Path, name: str = "services/websocket.lua") -> Path:
    for file, text in ((name, HANDLER), ("endpoints/own.lua", ROUTES)):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    return tmp_path


def test_it_handles_websockets_without_a_route(tmp_path: Path) -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme", path=folder(tmp_path))
        assert not lab.journal.select("warning")
        with acme.websocket("/any/where?q=1") as socket, acme.websocket("/own") as own:
            socket.send("é")
            assert json.loads(socket.receive()) == {"route": "/any/where", "said": "é"}
            socket.send("response")
            assert socket.receive() == "by response"
            socket.send("send")
            assert socket.receive() == "sent"
            own.send("a")
            assert own.receive() == "by the route"
        lab.settle()
        found = acme.Keystore.command(key="types", command="lrange", args=[0, -1])["value"]
        assert found == ["open", "data", "data", "data", "close"]
        assert acme.get("/page").text == "a page"
        assert acme.get("/any/where").status_code == 404


def test_a_function_and_its_removal(tmp_path: Path) -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        with pytest.raises(WebsocketError, match="answered 404"):
            acme.websocket("/live")

        @acme.on("websocket", "websocket_info")
        async def handle(websocket_info, services):  # type: ignore[no-untyped-def]
            if websocket_info.type == "data":
                await websocket_info.send(websocket_info.message * 2)

        with acme.websocket("/live") as socket:
            socket.send("ab")
            assert socket.receive() == "abab"


def test_the_fallback_handles_no_websocket() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.on("config", "fallback", lua="return 'no'")
        with pytest.raises(WebsocketError, match="answered 404"):
            acme.websocket("/live")
