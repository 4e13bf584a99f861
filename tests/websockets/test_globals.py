"""The global variables websocketInfo and websocket_info, which modules see while a websocket's script runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit import Lab
from labkit.lab.solution import Solution

MODULE = """
local seen = {}
seen.at_load = type(websocketInfo)
function seen.now()
  local function nested() return websocket_info and websocket_info.parameters.key end
  return nested()
end
function seen.say(text) websocketInfo.send(text) end
return seen
"""
LIVE = """--#ENDPOINT WEBSOCKET /live/{key}
local seen = require "seen"
if websocketInfo.type ~= "data" then return end
if websocketInfo.message == "fail" then error("on purpose") end
if websocketInfo.message == "say" then seen.say("é by the module") return end
local before = seen.now()
Keystore.get{key = "a"}
return {before = before, after = seen.now(), same = _G.websocketInfo == websocketInfo}

--#ENDPOINT GET /seen
local seen = require "seen"
return {now = type(seen.now()), both = type(websocketInfo) .. type(websocket_info), at_load = seen.at_load}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Solution]]:
    folder: Path = tmp_path_factory.mktemp("seen")
    for name, text in (("modules/seen.lua", MODULE), ("endpoints/live.lua", LIVE)):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    with Lab(seed=7) as lab:
        yield lab, lab.solution("acme", path=folder)


def test_a_module_sees_the_websocket_of_its_run(served: tuple[Lab, Solution]) -> None:
    _, acme = served
    with acme.websocket("/live/%C3%A9") as socket:
        socket.send("a")
        assert json.loads(socket.receive()) == {"before": "é", "after": "é", "same": True}
        socket.send("say")
        assert socket.receive() == "é by the module"
        none = {"now": "nil", "both": "nilnil", "at_load": "nil"}
        assert acme.get("/seen").json() == none  # in the same Lua state, after the run
        socket.send("fail")
        assert acme.get("/seen").json() == none


def test_strict_globals_are_no_obstacle(served: tuple[Lab, Solution]) -> None:
    _, acme = served
    acme.route(
        "WEBSOCKET",
        "/strict",
        lua="setmetatable(_G, {__newindex = function(_, name) error('undeclared ' .. name) end})"
        " return websocketInfo.message and _G.websocket_info.message",
    )
    with acme.websocket("/strict") as socket:
        for text in ("a", "b"):
            socket.send(text)
            assert socket.receive() == text
