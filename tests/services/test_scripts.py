"""Scripts.trigger: handlers of other services, loops that double, and what the journal shows."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Lab
from labkit.services.scripts import service as scripts

COUNT = "Keystore.command({key = 'count', command = 'incrby', args = {1}}) "


def count(solution: Any) -> int:
    return int(solution.Keystore.get(key="count").get("value", 0))


def test_handlers_of_other_services_can_be_run() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.on("timer", "timer", lua="return request.timer_id")
        acme.on("scripts", "nothing", lua="")
        assert acme.Scripts.trigger(service="timer", event="timer", data={"timer_id": "x"}) == "x"
        assert acme.Scripts.trigger(event="nothing") is None


def test_a_handler_that_triggers_two_of_itself_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "LONGEST_CHAIN", 12)
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        twice = "for _ = 1, 2 do refused = Scripts.trigger({event = 'job', mode = 'async'}).status or refused end "
        acme.on(
            "scripts",
            "job",
            lua=COUNT + twice + "if refused then Keystore.set({key = refused, value = 1}) end",
        )
        acme.Scripts.trigger(event="job", mode="async")
        lab.settle()
        assert 1000 < count(acme) <= 2**12 - 1
        assert acme.Keystore.get(key="500") == acme.Keystore.get(key="503") == {"value": "1"}


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_journal_has_data_without_values_that_sound_secret(mode: str) -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.on("scripts", "echo", lua="")
        data = {"name": "é", "password": "open sesame", "all": [{"api_key": "open sesame"}]}
        acme.Scripts.trigger(event="echo", data=data, mode=mode)
        lab.settle()
        details = [each.detail for each in lab.journal if each.kind in ("call", "event")]
        assert len(details) == 2
        assert all("open sesame" not in repr(each) and "'name': 'é'" in repr(each) for each in details)
