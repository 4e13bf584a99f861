"""`labkit diff`: reports, platforms and journals that really differ, odd input, and exit statuses."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.conformance import runner
from labkit.conformance.suite import suite
from labkit.conformance.target import LAB_YAML, Target
from labkit.conformance.verdict import Outcome
from labkit.hunt import Draw, play, story
from labkit.reporting import html, matrix, report
from labkit.reporting.differences import diff
from labkit.reporting.report_differences import CheckRun, ReportDifference, direction
from tests.reporting.books import verdict
from tests.reporting.test_html import offline
from tests.rig import invoked

labkit = functools.partial(invoked, "diff")


@story
def writes(lab: Lab, draw: Draw, *, count: int = 1) -> None:
    """A device writes a few values, and a handler counts them."""
    thermostat = lab.product("thermostat", resources={"target": {"format": "string", "settable": True}})
    app = lab.solution("app", products=[thermostat])
    app.on("device", "datapoint", lambda services: services.Keystore.command(key="n", command="incr"))
    device = thermostat.device("é 1").activate()
    for number in range(count):
        lab.wait(seconds=10)
        device.write(target=str(number))
        lab.wait(seconds=1)


@pytest.fixture
def journals(tmp_path: Path) -> tuple[Path, Path]:
    """Journals of one seed: the second one goes on for one write more."""
    files = tmp_path / "a.jsonl", tmp_path / "b é.jsonl"
    for file, count in zip(files, (1, 2), strict=True):
        file.write_text(play(writes, 7, parameters={"count": count}).journal, encoding="utf-8")
    return files


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two reports on DEV-TIME: of a lab, and of one whose time is an hour late and text/html."""
    place, chosen = tmp_path_factory.mktemp("reports"), suite().below("DEV-TIME")
    found = []
    for name, faults in (
        ("before", []),
        ("after", [{"where": "GET /timestamp", "edit": {".": ["add", 3600]}}]),
    ):
        with Lab(7, config=LAB_YAML, faults=faults) as lab:
            verdicts = runner.run(chosen.checks, Target.local(lab, 7), chosen.catalogue)
        states = {each.id: str(each.state) for each in matrix.rows(chosen.package, verdicts)}
        found.append(written(place / name, run_of(states, *verdicts, only="DEV-TIME")))
    return found[0], found[1]


def written(folder: Path, run: CheckRun, **changes: object) -> Path:
    """Write the verdicts.json of a run, as a report does."""
    folder.mkdir()
    summary = {"labkit": run.version, "parameters": {"only": run.only}, "states": dict(run.states)}
    lines = [each.as_dict() for each in run.verdicts.values()]
    (folder / "exchanges.json").write_text(report.exchanges_json(run.verdicts.values()), encoding="utf-8")
    (folder / "verdicts.json").write_text(
        json.dumps({**summary, "verdicts": lines, **changes}), encoding="utf-8"
    )
    return folder


def run_of(states: dict[str, str], *verdicts: Any, version: str = "1", only: str = "") -> CheckRun:
    return CheckRun("x", states, {each.check: each for each in verdicts}, version, only)


class TestReports:
    def test_a_fault_makes_requirements_worse(self, folders: tuple[Path, Path], tmp_path: Path) -> None:
        before, after = folders
        page = tmp_path / "diff.html"
        result = labkit(before, after, "--html", page)
        assert result.exit_code == 1
        assert "worse   DEV-TIME-1  passed → failed  " in result.stdout
        a, _, b = result.stdout.partition("    A  passed\n")[2].partition("    B  failed: ")
        assert a.startswith("       | GET /timestamp\n")  # both exchanges, of the same request
        assert "       | GET /timestamp\n" in b
        text = page.read_text(encoding="utf-8")
        offline(text)
        assert "got worse" in text
        assert "GET /timestamp" in text

    def test_the_other_way_round_it_is_better(self, folders: tuple[Path, Path]) -> None:
        result = labkit(folders[1], folders[0], "--json")
        found = json.loads(result.stdout)
        assert (result.exit_code, found["worse"]) == (0, False)
        change = next(each for each in found["changes"] if each["requirement"] == "DEV-TIME-1")
        assert (change["before"], change["after"], change["change"]) == ("failed", "passed", "better")
        check = next(each for each in change["checks"] if each["check"] == "timestamp/is-now")
        assert check["before"]["actual"]
        assert check["before"]["exchange"].startswith("GET /timestamp")
        assert check["after"]["outcome"] == "passed"

    def test_equal_reports(self, folders: tuple[Path, Path]) -> None:
        result = labkit(folders[0], folders[0] / "verdicts.json")
        assert (result.exit_code, "requirements: no verdict changed" in result.stdout) == (0, True)

    def test_repeated_prefixes_add_up(self, folders: tuple[Path, Path]) -> None:
        both = ("--only", "DEV-TIME-1", "--only", "DEV-TIME-2")
        found = json.loads(labkit(*folders, *both, "--json").stdout)
        assert [found[each]["requirements"] for each in "ab"] == [2, 2]

    @pytest.mark.sampled
    def test_a_report_and_a_lab(self, folders: tuple[Path, Path]) -> None:
        result = labkit(folders[1], "lab", "--only", "DEV-TIME-1")
        assert result.exit_code == 0, result.output
        assert "requirements: 1 better\n\nbetter  DEV-TIME-1  failed → passed" in result.stdout

    def test_a_report_that_labkit_wrote(self, tmp_path: Path) -> None:
        made = report.Report({}, (), (), suite().below("DEV-TIME").package)
        report.write(made, tmp_path)
        result = labkit(tmp_path, tmp_path)
        assert result.exit_code == 0, result.stderr
        assert "(4 requirements, labkit " in result.stdout


class TestChanges:
    @pytest.mark.parametrize(
        ("before", "after", "expected"),
        [
            *[("passed", each, "worse") for each in ("warned", "failed", "broken", "skipped", "not reached")],
            *[("passed", each, "worse") for each in ("missing", "not run", "no check")],
            *[("warned", each, "worse") for each in ("failed", "broken", "skipped", "missing")],
            *[("skipped", "failed", "worse"), ("not run", "broken", "worse")],
            *[(each, "passed", "better") for each in ("warned", "failed", "broken", "skipped", "not run")],
            *[("failed", "warned", "better"), ("broken", "warned", "better")],
            *[
                ("failed", "broken", "changed"),
                ("broken", "failed", "changed"),
                ("failed", "skipped", "changed"),
            ],
            *[("skipped", "warned", "changed"), ("skipped", "not run", "changed")],
            *[("missing", each, "new") for each in ("passed", "failed")],
            *[("failed", "missing", "gone"), ("skipped", "missing", "gone")],
        ],
    )
    def test_directions(self, before: str, after: str, expected: str) -> None:
        assert direction(before, after) == expected

    def test_checks_that_are_new_or_gone(self) -> None:
        a = run_of({"R-1": "passed"}, verdict("old", "R-1"), version="0.9")
        b = run_of({"R-1": "passed", "R-2": "failed"}, verdict("fresh", "R-1 R-2", "failed"), only="R")
        found = ReportDifference.of(a, b, {"R-2": "Sentence."})
        assert (found.new, found.gone, found.is_worse) == (("fresh",), ("old",), False)
        assert [each.direction for each in found.changes] == ["new"]
        text = str(found)
        assert "A is of labkit 0.9, B of 1" in text
        assert "A checks all, B R" in text
        assert "checks that are new: fresh" in text
        assert "checks that are gone: old" in text
        assert "A  did not run" in text
        offline(html.difference_page(found))

    def test_a_check_that_passed_shows_the_request_that_failed(self) -> None:
        kept = ("GET /a\n\nHTTP 200", "GET /b\n\nHTTP 204")
        a = run_of({"R-1": "passed"}, verdict("c", "R-1", exchanges=kept))
        for exchange, shown in (
            ("GET /a\n\nHTTP 503", kept[0]),
            ("GET /x\n\nHTTP 503", kept[1]),
            ("", ""),
        ):
            b = run_of({"R-1": "failed"}, verdict("c", "R-1", "failed", exchange=exchange))
            for found in (ReportDifference.of(a, b, {}), ReportDifference.of(b, a, {})):
                [check] = found.changes[0].checks
                assert {each.exchange for each in (check.before, check.after) if each} == {shown, exchange}

    def test_markup_in_an_answer_stays_text(self) -> None:
        def one(outcome: Outcome, actual: str) -> CheckRun:
            return run_of({"R-1": outcome}, verdict("c", "R-1", outcome, actual=actual, exchange=actual))

        page = html.difference_page(ReportDifference.of(one("passed", ""), one("failed", "<script>é"), {}))
        offline(page)
        assert "&lt;script&gt;é" in page


class TestJournals:
    def test_the_first_record_that_differs(self, journals: tuple[Path, Path], tmp_path: Path) -> None:
        page = tmp_path / "diff.html"
        result = labkit(*journals, "--html", page)
        assert result.exit_code == 1, result.output
        lines = [file.read_text(encoding="utf-8").splitlines() for file in journals]
        first = len(lines[0]) + 1
        assert lines[1][: len(lines[0])] == lines[0]  # the story goes on, and changes nothing before
        assert f"first difference: record {first}, only in B" in result.stdout
        assert "the journal has ended" in result.stdout
        offline(page.read_text(encoding="utf-8"))

    def test_a_changed_record_and_its_causes(self, journals: tuple[Path, Path]) -> None:
        file = journals[0]
        records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        caused = next(each for each in records if each["kind"] == "call" and each["cause"])
        caused["status"], caused["summary"] = 599, "changed"
        journals[1].write_text("".join(f"{json.dumps(each)}\n" for each in records))
        journals[0].write_text(
            "".join(f"{json.dumps(json.loads(line))}\n" for line in file.read_text().splitlines())
        )
        result = labkit(*journals, "--json")
        found = json.loads(result.stdout)["first"]
        assert (result.exit_code, found["change"]) == (1, "changed")
        assert found["fields"] == ["summary", "status"]
        assert found["b"]["record"]["status"] == 599
        kinds = [each["kind"] for each in found["a"]["causes"]]
        assert kinds[0] == "request"  # the device's write, of which the event, the script and the call came
        assert kinds[-1] == "script"
        assert found["a"]["causes"] == found["b"]["causes"]
        assert "status: 599" in labkit(*journals).stdout

    def test_equal_journals(self, journals: tuple[Path, Path]) -> None:
        result = labkit(journals[0], journals[0])
        assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "the journals are equal")

    def test_plays_and_labs(self) -> None:
        first, second = (play(writes, seed) for seed in (1, 2))
        assert not diff(first, first).is_worse
        assert diff(first, second).is_worse  # other credentials
        with Lab(seed=3) as lab:
            lab.product("thermostat").device("d").activate()
            assert str(diff(lab, lab.journal)).endswith("the journals are equal")

    def test_lines_of_labkit_logs(self, tmp_path: Path) -> None:
        record = {"time": 5, "kind": "event", "actor": "p/é", "count": 1, "summary": "s", "cause": None}
        more = {"status": None, "size": 3, "detail": {"duration": 1.5, "x": 1}}
        files = []
        for name, changes in (
            ("a", {}),
            ("b", {"detail": {"duration": 2.5, "x": 1}}),
            ("c", {"summary": "t"}),
        ):
            file = tmp_path / name
            file.write_text(json.dumps({**record, **more, "sequence": 1, **changes}) + "\n", encoding="utf-8")
            files.append(file)
        assert labkit(files[0], files[1]).exit_code == 0  # durations are real time
        assert labkit(files[0], files[2]).exit_code == 1


class TestOddInput:
    def refused(self, *arguments: object) -> str:
        result = labkit(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        [line] = result.stderr.splitlines()
        return line

    def test_no_such_file(self, tmp_path: Path) -> None:
        assert "nothing-é: No such file" in self.refused(tmp_path / "nothing-é", tmp_path)

    def test_a_folder_without_a_report(self, tmp_path: Path) -> None:
        assert "no report: verdicts.json: No such file" in self.refused(tmp_path, tmp_path)

    @pytest.mark.parametrize(
        "changes", [{"verdicts": [{"check": "x", "colour": "red"}]}, {"states": 3}, {"parameters": None}]
    )
    def test_a_report_of_another_version(self, tmp_path: Path, changes: dict[str, object]) -> None:
        folder = written(tmp_path / "other", run_of({}), **changes)
        assert "is not that of a report of this version of labkit" in self.refused(folder, folder)

    def test_files_that_are_neither(self, tmp_path: Path, journals: tuple[Path, Path]) -> None:
        file = tmp_path / "x"
        for content, text in (
            (b"", "x: the file is empty"),
            (b" \n", "x: the file is empty"),
            (b"\xff\xfe", "x: is no text"),
            (b"hello", "x: line 1 is no record of a journal: 'hello'"),
            (b'{"actor": "a", "kind": "k", "summary": "s", "time": "t"}\n[]', "line 1 is no record"),
        ):
            file.write_bytes(content)
            assert text in self.refused(file, journals[0])

    def test_a_journal_and_a_report(self, journals: tuple[Path, Path], folders: tuple[Path, Path]) -> None:
        assert "A is a journal, B is none" in self.refused(journals[0], folders[0])
        assert "B is a journal, A is none" in self.refused("lab", journals[0])

    def test_an_unknown_requirement_and_a_page_without_a_folder(
        self, folders: tuple[Path, Path], tmp_path: Path
    ) -> None:
        assert "no requirement begins with 'XYZ'" in self.refused(*folders, "--only", "XYZ")
        assert "--html: " in self.refused(*folders, "--html", tmp_path / "none" / "x.html")

    def test_a_platform_that_is_not_there(self, folders: tuple[Path, Path]) -> None:
        assert self.refused(folders[0], "http://127.0.0.1:9")
