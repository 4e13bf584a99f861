"""Scripts.trigger: handlers that scripts run, at once or later; two solutions; loops."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Lab
from labkit.services.scripts import service as scripts

COUNT = "Keystore.command({key = 'count', command = 'incrby', args = {1}}) "


def count(solution: Any) -> int:
    return int(solution.Keystore.get(key="count").get("value", 0))


def test_a_sync_trigger_returns_what_the_handler_of_its_own_solution_does() -> None:
    with Lab(seed=7) as lab:
        acme, other = lab.solution("acme"), lab.solution("other")
        for each in (acme, other):
            each.on(
                "scripts", "echo", lua="return {data = data, by = context.solution_id, event = context.event}"
            )
            each.on("scripts", "nothing", lua="")
            each.route("POST", "/echo", lua="return Scripts.trigger({event = 'echo', data = request.body})")
        for data in ({"a": [1, 2.5, True]}, "é", 7, False):
            for each in (acme, other):
                assert each.post("/echo", json=data).json() == {"data": data, "by": each.id, "event": "echo"}
        assert acme.Scripts.trigger(event="nothing") is None


def test_an_async_trigger_is_handled_later_and_in_order() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.on("scripts", "job", lua="Keystore.command({key = 'jobs', command = 'rpush', args = {data}})")
        acme.route(
            "POST",
            "/jobs",
            lua="""
            for number = 1, 3 do
              local given = Scripts.trigger({event = 'job', mode = 'async', data = number})
              assert(next(given) == nil)
            end
            return Keystore.command({key = 'jobs', command = 'llen'})
            """,
        )
        acme.post("/jobs")
        lab.settle()
        assert acme.Keystore.command(key="jobs", command="lrange", args=[0, -1])["value"] == ["1", "2", "3"]
        events = [each for each in lab.journal if each.kind == "event"]
        assert [(each.actor, each.summary, (each.detail or {})["data"]) for each in events] == [
            ("acme/scripts", "job", number) for number in (1, 2, 3)
        ]


def test_handlers_of_other_services_can_be_run() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.on("timer", "timer", lua="return request.timer_id")
        assert acme.Scripts.trigger(service="timer", event="timer", data={"timer_id": "x"}) == "x"


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_trigger_without_a_handler_is_404(mode: str) -> None:
    with Lab(seed=7) as lab:
        acme, other = lab.solution("acme"), lab.solution("other")
        other.on("scripts", "job", lua="")
        refused = acme.Scripts.trigger(event="job", mode=mode)
        assert (refused["status"], refused["error"]) == (404, "Event scripts job has no handler")
        assert acme.Scripts.trigger(event="x" * 201, mode=mode)["status"] == 400
        assert other.Scripts.trigger(event="job", mode=mode, data="x" * 65_536)["status"] == 400
        assert other.Scripts.trigger(event="job", mode="later")["status"] == 400


def test_a_handler_that_fails_is_an_error_of_a_sync_trigger_alone() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.on("scripts", "job", lua="error('as it was asked to')")
        refused = acme.Scripts.trigger(event="job")
        assert refused["status"] == 500
        assert "scripts job failed" in refused["error"]
        assert "as it was asked to" in refused["error"]
        assert acme.Scripts.trigger(event="job", mode="async") == {}
        lab.settle()


def test_a_handler_that_triggers_itself_ends() -> None:
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        acme.on("scripts", "sync", lua=COUNT + "return Scripts.trigger({event = 'sync'})")
        acme.on("scripts", "async", lua=COUNT + "return Scripts.trigger({event = 'async', mode = 'async'})")
        found = acme.Scripts.trigger(event="sync")
        assert (found["status"], count(acme)) == (500, 10)
        acme.Keystore.delete(key="count")
        assert acme.Scripts.trigger(event="async", mode="async") == {}
        lab.settle()
        assert count(acme) == scripts.LONGEST_CHAIN
        assert acme.Scripts.trigger(event="async", mode="async") == {}  # a chain of its own
        lab.settle()
        assert count(acme) == 2 * scripts.LONGEST_CHAIN


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
