"""Checks that run in processes of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import pytest

from labkit.conformance import processes
from labkit.conformance.check import PATIENCE, Check, all_checks, select
from labkit.conformance.fork_server import Ended, ForkServer, Message
from labkit.conformance.verdict import Verdict

pytestmark = pytest.mark.xdist_group("forked")


def some() -> list[Check]:
    """Return quick checks of two areas, not in their order."""
    found = select(all_checks(), "DEV-TIME", "KEY-GET")
    return found[::-1]


def test_each_check_runs_once_and_verdicts_keep_the_order(server: ForkServer) -> None:
    noted: list[Verdict] = []
    verdicts = processes.play(some(), seed=3, progress=noted.append, server=server)
    assert [(each.check, each.outcome) for each in verdicts] == [(each.name, "passed") for each in some()]
    assert sorted(each.check for each in noted) == sorted(each.name for each in some())
    assert all(each.seconds > 0 for each in verdicts)


class Recorded(ForkServer):
    """Stub of a fork server whose calls pass every check of a job but the last, then end as set."""

    def __init__(self, preload: str) -> None:
        self.close = lambda: None  # type: ignore[method-assign]

    jobs: ClassVar[list[dict[str, Any]]] = []
    error = ""

    def run(self, function: str, arguments: Iterable[Any], **options: Any) -> Iterator[Any]:
        known = {each.name: each for each in all_checks()}
        for job in arguments:
            self.jobs.append(job)
            for check in [known[name] for name in job["checks"]][: -1 if self.error else None]:
                passed = Verdict(check.name, check.requirements, check.title, "passed")
                yield Message(job, passed.as_dict())
            yield Ended(job, self.error, "first\nlast")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> type[Recorded]:
    monkeypatch.setattr(processes, "ForkServer", Recorded)
    monkeypatch.setattr(Recorded, "jobs", [])
    return Recorded


def test_each_area_has_a_process_and_a_remote_target_a_single_one(recorded: type[Recorded]) -> None:
    def jobs() -> list[tuple[str, set[str]]]:
        areas = {each.name: each.requirements[0].partition("-")[0] for each in all_checks()}
        found = [(job["target"], {areas[name] for name in job["checks"]}) for job in recorded.jobs]
        recorded.jobs.clear()
        return sorted(found)

    assert [each.outcome for each in processes.play(some())] == ["passed"] * len(some())
    assert jobs() == [("lab", {"DEV"}), ("lab", {"KEY"})]
    processes.play(some(), "ready.json")
    assert jobs() == [("ready.json", {"DEV", "KEY"})]
    assert processes.play([]) == []
    assert processes.play([], "ready.json") == []


def test_no_job_is_much_longer_than_the_others(recorded: type[Recorded]) -> None:
    names = [each.name for each in all_checks()]
    processes.play(all_checks())
    sizes = [len(job["checks"]) for job in recorded.jobs]
    assert max(sizes) <= processes.MANY
    assert sizes == sorted(sizes, reverse=True)
    assert sorted(name for job in recorded.jobs for name in job["checks"]) == sorted(names)


def test_checks_that_an_ended_process_did_not_reach_are_broken(
    recorded: type[Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "error", "signal SIGKILL")
    noted: list[Verdict] = []
    wanted = select(all_checks(), "DEV-ALIAS")
    verdicts = processes.play(wanted, progress=noted.append)
    assert [each.check for each in verdicts] == [each.name for each in wanted]
    assert len(noted) == len(wanted)
    assert [each.outcome for each in noted] == ["passed"] * (len(wanted) - 1) + ["broken"]
    assert verdicts[-1].reason == ("the process that plays the checks ended before it (signal SIGKILL): last")


def test_checks_after_one_that_does_not_end_run_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[list[str]] = []
    wanted = select(all_checks(), "DEV-TIME")
    names = [each.name for each in wanted]

    class Killed(Recorded):
        def run(self, function: str, arguments: Iterable[Any], **options: Any) -> Iterator[Any]:
            assert options["silence"] > PATIENCE
            [job] = arguments
            runs.append(job["checks"])
            yield Message(job, processes.BEGUN)
            for check in wanted:
                if check.name in job["checks"]:
                    if check.name == names[2]:
                        yield Ended(job, "killed after 99 s of silence", "")
                        return
                    yield Message(
                        job, Verdict(check.name, check.requirements, check.title, "passed").as_dict()
                    )
            yield Ended(job, "", "")

    monkeypatch.setattr(processes, "ForkServer", Killed)
    verdicts = processes.play(wanted)
    assert runs == [names, names[3:]]
    assert [each.outcome for each in verdicts] == ["passed"] * 2 + ["broken"] + ["passed"] * (len(names) - 3)
    assert "killed after 99 s of silence" in verdicts[2].reason


def test_without_processes_all_checks_are_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PRELOAD", "labkit.nowhere")
    verdicts = processes.play(some())
    assert {each.outcome for each in verdicts} == {"broken"}
    assert all("No module named 'labkit.nowhere'" in each.reason for each in verdicts)


def test_an_invalid_target_gives_the_reason(server: ForkServer, tmp_path: Any) -> None:
    described = tmp_path / "ready.json"
    described.write_text(json.dumps({"https_port": 1}))
    [verdict, *_] = processes.play(some(), str(described), server=server)
    assert verdict.outcome == "broken"
    assert verdict.reason.endswith("target: ca_file: is required")
