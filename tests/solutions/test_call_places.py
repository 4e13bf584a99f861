"""Places of calls in a solution's scripts."""

from __future__ import annotations

from labkit.solutions.checking.call_places import call_places
from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.scripts import ScriptSource


def folder() -> SolutionFolder:
    found = SolutionFolder()
    found.add_endpoints(
        "a.lua", "--#ENDPOINT GET /a/{id}\n\nTwilio.post{}\n--#ENDPOINT GET /b\nlocal m = require('é')\n"
    )
    found.add_events("timer.lua", "--#EVENT Timer timer\nTwilio.post{}\nTwilio.post{} Twilio.list()\n", None)
    found.modules["é"] = ScriptSource("é.lua", 1, "\n".join(["Twilio.send{}"] * 5))
    return found


def test_the_handlers_own_calls_come_alone() -> None:
    assert call_places(folder(), "GET /a/{id}", "Twilio.post") == "a.lua:3"
    assert call_places(folder(), "timer timer", "Twilio.post") == "timer.lua:2, timer.lua:3"


def test_else_all_places_and_not_too_many() -> None:
    assert call_places(folder(), "GET /b", "Twilio.post") == "a.lua:3, timer.lua:2, timer.lua:3"
    assert call_places(folder(), "GET /b", "Twilio.send") == "é.lua:1, é.lua:2, é.lua:3 and 2 more"
    assert call_places(folder(), "GET /b", "Twilio.sent") == ""
    assert call_places(folder(), "of a function in Python", "Twilio.list") == "timer.lua:3"
