"""Checks played in processes of their own."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

import pytest

from labkit.conformance import processes
from labkit.conformance.check import Check, all_checks, select
from labkit.conformance.verdict import Verdict


def some() -> list[Check]:
    """Quick ones of two areas, in an order that is not theirs."""
    found = select(all_checks(), "DEV-TIME", "KEY-GET")
    return found[::-1]


def test_each_is_played_once_and_they_come_in_order() -> None:
    noted: list[Verdict] = []
    verdicts = processes.play(some(), seed=3, progress=noted.append)
    assert [(each.check, each.outcome) for each in verdicts] == [(each.name, "passed") for each in some()]
    assert sorted(each.check for each in noted) == sorted(each.name for each in some())
    assert all(each.seconds > 0 for each in verdicts)


def test_an_area_has_a_process_and_elsewhere_all_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[tuple[str, list[str]]] = []

    def play(checks: list[Check], target: str, *rest: Any) -> list[Verdict]:
        jobs.append((target, [each.requirements[0].partition("-")[0] for each in checks]))
        return [Verdict(each.name, each.requirements, each.title, "passed") for each in checks]

    monkeypatch.setattr(processes, "_in_a_process", play)
    processes.play(some())
    assert sorted((target, {*areas}) for target, areas in jobs) == [("lab", {"DEV"}), ("lab", {"KEY"})]
    jobs.clear()
    processes.play(some(), "ready.json")
    assert [(target, {*areas}) for target, areas in jobs] == [("ready.json", {"DEV", "KEY"})]
    assert processes.play([]) == []
    assert processes.play([], "ready.json") == []


def test_what_a_process_that_dies_did_not_come_to_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[Verdict] = []

    def kill_at_the_first(verdict: Verdict) -> None:
        noted.append(verdict)
        for process in started:
            process.send_signal(signal.SIGKILL)

    started: list[Any] = []

    class Watched(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Watched)
    wanted = select(all_checks(), "DEV-ALIAS")
    verdicts = processes.play(wanted, progress=kill_at_the_first)
    assert [each.check for each in verdicts] == [each.name for each in wanted]
    assert len(noted) == len(wanted)
    assert verdicts[-1].outcome == "broken"
    assert "ended before it (-9)" in verdicts[-1].reason


def test_a_target_that_is_none_says_why(tmp_path: Any) -> None:
    described = tmp_path / "ready.json"
    described.write_text(json.dumps({"https_port": 1}))
    [verdict, *_] = processes.play(some(), str(described))
    assert verdict.outcome == "broken"
    assert verdict.reason.endswith("target: ca_file: is required")
