"""Complete report runs: parameters of notebooks, files written, and exit status."""

from __future__ import annotations

import functools
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from click.testing import CliRunner, Result
from jupyter_core.utils import ensure_event_loop
from papermill.cli import papermill

from labkit.conformance import processes
from labkit.conformance.coverage import coverage
from labkit.conformance.target import LAB_YAML
from labkit.reporting import report
from labkit.reporting.parameters import ParameterError
from labkit.reporting.run_notebook import NotebookError, NotebookRun
from labkit.reporting.verdicts import collect_verdicts
from labkit.testing.server import serving
from tests.conformance.own_folders import ACME, RULES, SENTENCES
from tests.reporting.books import SharedServer, notebook, small, verdict, written
from tests.reporting.test_html import offline
from tests.rig import invoked

KNOWS_ALL = "# parameters\ntarget = 'lab'\nseed = 7\nonly = ''\nverdicts_file = ''"
SHOWS = (
    "from labkit.reporting.notebook import verdicts\nverdicts('DEV', only=only, verdicts_file=verdicts_file)"
)


labkit = functools.partial(invoked, "report")


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, fork_server: str) -> list[dict[str, Any]]:
    """Stub of the checks' run, with the verdicts that a test sets: [{check: verdict}, …], one for each run."""
    prepared: list[dict[str, Any]] = []

    def played(checks: Any, target: str, seed: int, progress: Any, server: Any, folders: Any) -> list[Any]:
        outcomes = prepared.pop(0)
        found = [outcomes.get(each.name, verdict(each.name, " ".join(each.requirements))) for each in checks]
        for each in found:
            progress(each)
        return found

    monkeypatch.setattr(processes, "play", played)
    monkeypatch.setattr(report, "ForkServer", SharedServer(fork_server))
    return prepared


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two notebooks: one has all parameters, the other the seed and one of its own."""
    written(tmp_path / "notebooks" / "01_a.ipynb", "# parameters\nseed = 7\nhours = 1.5", "seed")
    written(tmp_path / "notebooks" / "90_b.ipynb", KNOWS_ALL, "seed")
    return tmp_path / "notebooks"


class TestThePlan:
    def plan(self, folder: Path, given: dict[str, Any], **texts: str) -> dict[str, dict[str, Any]]:
        return {path.stem: parameters for path, parameters in report.plan(folder, given, texts)}

    def test_each_notebook_gets_the_parameters_that_it_has(self, two: Path) -> None:
        assert self.plan(two, {"seed": 8, "target": "x.json"}) == {
            "01_a": {"seed": 8}, "90_b": {"seed": 8, "target": "x.json"}
        }  # fmt: skip

    def test_text_is_converted_to_the_type_of_the_default(self, two: Path) -> None:
        assert self.plan(two, {}, hours="2", seed="9") == {
            "01_a": {"hours": 2, "seed": 9},
            "90_b": {"seed": 9},
        }

    def test_a_notebook_learns_that_nobody_watches_unless_somebody_says_so(self, two: Path) -> None:
        written(two / "02_live.ipynb", "# parameters\nwatched = True", "watched")
        assert self.plan(two, {})["02_live"] == {"watched": False}
        assert self.plan(two, {}, watched="true")["02_live"] == {"watched": True}
        planned = report.plan(two, {"seed": 8}, {})
        assert report._used_parameters(planned, {}) == {"seed": 8}

    def test_a_parameter_may_be_for_one_notebook_only(self, two: Path) -> None:
        assert self.plan(two, {}, **{"90_b.seed": "9", "seed": "8", "01_a.hours": "3"}) == {
            "01_a": {"seed": 8, "hours": 3},
            "90_b": {"seed": 9},
        }

    def test_an_unknown_notebook_or_parameter_is_an_error(self, two: Path) -> None:
        with pytest.raises(
            ParameterError, match=r"'02_x\.seed': there is no notebook '02_x'; .*: 01_a, 90_b"
        ):
            self.plan(two, {}, **{"02_x.seed": "9"})
        with pytest.raises(ParameterError, match=r"90_b\.ipynb: unknown parameter 'hours'; there are: "):
            self.plan(two, {}, **{"90_b.hours": "9"})
        with pytest.raises(ParameterError, match=r"01_a\.ipynb: unknown parameter 'only'"):
            self.plan(two, {"only": "DEV"}, **{"01_a.only": "x"})
        with pytest.raises(ParameterError, match=r"parameter 'hours': expected float, not 'abc'"):
            self.plan(two, {"only": "DEV"}, **{"01_a.hours": "abc"})

    def test_only_excludes_notebooks_without_that_parameter(self, two: Path) -> None:
        assert self.plan(two, {"only": "DEV", "seed": 8}) == {"90_b": {"only": "DEV", "seed": 8}}

    def test_a_misspelt_parameter_is_an_error_with_the_existing_ones(self, two: Path) -> None:
        with pytest.raises(ParameterError, match="'sede'; the notebooks know: hours, only, seed, target"):
            self.plan(two, {}, sede="8")

    def test_a_value_of_another_type_is_an_error(self, two: Path) -> None:
        with pytest.raises(ParameterError, match=r"01_a\.ipynb: parameter 'seed': expected int"):
            self.plan(two, {}, seed="1.5")

    def test_a_folder_without_notebooks_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(NotebookError, match="holds no notebooks"):
            report.plan(tmp_path, {}, {})


class TestAtATerminal:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (
                ["--parameter", "sede=8"],
                "unknown parameter 'sede'; the notebooks know: hours, only, seed, target",
            ),
            (["--parameter", "seed"], "'seed' is no parameter: expected name=value"),
            (["--only", "NOPE"], "no requirement begins with 'NOPE'"),
            (["--target", "nowhere.json"], "target: nowhere.json: No such file"),
        ],
    )
    def test_an_error_is_one_line_and_nothing_runs(self, two: Path, arguments: list[str], said: str) -> None:
        result = labkit("--notebooks", two, *arguments)
        assert result.exit_code == 1
        [line] = result.stderr.splitlines()
        assert line.startswith("labkit: ")
        assert said in line
        assert not (two.parent / "reports").exists()

    def test_a_run_without_problems_writes_every_file_and_has_status_0(
        self, tmp_path: Path, play: list[Any]
    ) -> None:
        known = coverage()
        play.append({})
        folder = tmp_path / "notebooks"
        written(folder / "01_a.ipynb", "# First", "# parameters\nseed = 7", "seed")
        written(folder / "90_b.ipynb", "# Second", KNOWS_ALL, SHOWS)
        result = labkit("--notebooks", folder, "--seed", 8, "--json")
        assert result.exit_code == 0, result.stderr
        latest = tmp_path / "reports" / "latest"
        assert {each.name for each in latest.iterdir()} == {
            *("verdicts.json", "exchanges.json", "junit.xml", "report.html"),
            *("01_a.ipynb", "01_a.html", "90_b.ipynb", "90_b.html"),
        }
        counts = json.loads(result.stdout)
        assert (counts["good"], counts["parameters"]) == (True, {"seed": 8})
        assert counts["checks"] == {"passed": len(known.checks)}
        data = json.loads((latest / "verdicts.json").read_text())
        assert [each["check"] for each in data["verdicts"]] == [each.name for each in known.checks]
        assert set(data["states"]) == set(known.covered)
        suites = ElementTree.parse(latest / "junit.xml").getroot()
        assert suites.get("tests") == str(len(known.checks) + 2)
        for page in latest.glob("*.html"):
            offline(page.read_text())
        matrix = (tmp_path / "reports" / "conformance.md").read_text()
        assert f"✓ {known.checks[0].name}" in matrix
        assert str(tmp_path) not in matrix
        assert "report" in result.stderr  # the progress bar has a label
        assert "2/2 notebooks" in result.stderr

    def test_a_notebook_runs_as_with_papermill(self, tmp_path: Path, play: list[Any]) -> None:
        play.append({})
        folder, by_hand = tmp_path / "notebooks", tmp_path / "by_hand.ipynb"
        first = written(
            folder / "01_a.ipynb", "# First", "# parameters\nseed = 7\ndevices = 20", "seed, devices"
        )
        written(folder / "90_b.ipynb", "# Second", KNOWS_ALL, SHOWS)
        result = labkit("--notebooks", folder, "--json", "-p", "01_a.devices=1000", "-p", "01_a.seed=8")
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["parameters"] == {"01_a.devices": 1000, "01_a.seed": 8}
        given = ["-p", "devices", "1000", "-p", "seed", "8", "--kernel", "python3", "--language", "python"]
        with ThreadPoolExecutor(1) as own:  # Jupyter leaves an event loop open
            done = own.submit(self.papermill, [str(first), str(by_hand), *given]).result()
        assert done.exit_code == 0, done.output
        made = [nbformat.read(each, 4) for each in (tmp_path / "reports/latest/01_a.ipynb", by_hand)]
        assert made[0].cells[-1].outputs == made[1].cells[-1].outputs
        assert made[0].cells[-1].outputs[0].data == {"text/plain": "(8, 1000)"}

    def papermill(self, arguments: list[str]) -> Result:
        try:
            return CliRunner().invoke(papermill, arguments)
        finally:
            ensure_event_loop().close()

    def test_a_notebook_shows_the_verdicts_of_the_shared_run(self, tmp_path: Path, play: list[Any]) -> None:
        first = coverage().below("DEV-TIME").checks[0]
        play.append({first.name: verdict(first.name, "DEV-TIME-1", "warned", reason="only a report says so")})
        folder, output = tmp_path / "notebooks", tmp_path / "out"
        written(folder / "90_b.ipynb", KNOWS_ALL, SHOWS)
        assert labkit("--notebooks", folder, "--output", output, "--only", "DEV-TIME").exit_code == 0
        shown = collect_verdicts(nbformat.read(output / "90_b.ipynb", 4))
        assert [each.check for each in shown] == [each.name for each in coverage().below("DEV-TIME").checks]
        assert [each.reason for each in shown if each.outcome == "warned"] == ["only a report says so"]

    def test_with_only_the_totals_are_of_the_selection(self, tmp_path: Path, play: list[Any]) -> None:
        play.append({})
        folder, output = tmp_path / "notebooks", tmp_path / "out"
        written(folder / "90_b.ipynb", KNOWS_ALL, SHOWS)
        result = labkit("--notebooks", folder, "--output", output, "--only", "DEV-TIME")
        some = coverage().below("DEV-TIME")
        assert f"{len(some.covered)} of {len(some.covered)} requirements passed" in result.stdout
        data = json.loads((output / "verdicts.json").read_text())
        assert data["requirements"] == {"passed": len(some.covered)}
        assert set(data["states"]) == set(some.covered)
        page = (output / "report.html").read_text()
        assert "DEV-TIME-1" in page
        assert "DEV-ALIAS-1" not in page
        assert not (tmp_path / "reports").exists()

    def test_choices_count_as_failures_on_request(self, tmp_path: Path, play: list[Any]) -> None:
        first = coverage().below("DEV-TIME").checks[0]
        differs = verdict(first.name, "DEV-TIME-1", "warned", reason="status", expected="200", actual="204")
        play += [{first.name: differs}, {first.name: differs}]
        folder, output = tmp_path / "notebooks", tmp_path / "out"
        written(folder / "90_b.ipynb", KNOWS_ALL, SHOWS)
        arguments = ("--notebooks", folder, "--output", output, "--only", "DEV-TIME")
        assert labkit(*arguments).exit_code == 0
        result = labkit(*arguments, "--fail-on", "warned")
        assert result.exit_code == 1
        assert f"warned DEV-TIME-1  {first.name}: status: expected 200, got 204" in result.stderr
        assert "1 problem" in (output / "report.html").read_text()

    def test_a_failed_check_and_a_notebook_that_raised_have_a_line_each(
        self, tmp_path: Path, play: list[Any]
    ) -> None:
        [check, *_] = coverage().checks
        failed = verdict(
            check.name,
            check.requirements[0],
            "failed",
            reason="status",
            expected="204",
            actual="500",
            exchange="GET /x",
        )
        play.append({check.name: failed})
        folder, output = tmp_path / "notebooks", tmp_path / "out"
        written(folder / "01_a.ipynb", "# parameters\nseed = 7", "seed", "1 / 0")
        written(folder / "90_b.ipynb", KNOWS_ALL, SHOWS)
        result = labkit("--notebooks", folder, "--output", output)
        assert result.exit_code == 1
        assert f"failed {check.requirements[0]}  {check.name}: status: expected 204, got 500" in result.stderr
        assert "raised 01_a  cell 3: ZeroDivisionError: division by zero" in result.stderr
        page = (output / "report.html").read_text()
        for shown in ("2 problems", "expected", "204", "500", "GET /x", "ZeroDivisionError"):
            assert shown in page
        assert (output / "01_a.ipynb").exists()


class TestOwnChecks:
    """Folders of one's own, whose checks run in processes as those of the package do."""

    SHOWS = (
        "from labkit.reporting.notebook import own_verdicts\n"
        "own_verdicts(checks, only=only, target=target, verdicts_file=verdicts_file)"
    )

    def run(self, folder: Path, server: str, *arguments: object) -> tuple[Result, Path]:
        written(folder / "notebooks" / "90_b.ipynb", f"{KNOWS_ALL}\nchecks = []", self.SHOWS)
        given = ("--notebooks", folder / "notebooks", "--output", folder / "out", *arguments)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(report, "ForkServer", SharedServer(server))
            return labkit(*given, "--checks", ACME, "--checks", RULES), folder / "out"

    def cases(self, output: Path) -> dict[str, ElementTree.Element]:
        root = ElementTree.parse(output / "junit.xml").getroot()
        return {each.get("name", "").partition(":")[0]: each for each in root.iter("testcase")}

    def test_a_failure_is_in_every_file(self, tmp_path: Path, fork_server: str) -> None:
        result, output = self.run(tmp_path, fork_server, "--only", "RULES")
        assert result.exit_code == 1
        assert "failed RULES-2  rules/since-2020: seconds since 2020: expected" in result.stderr
        assert "1 check (1 failed), 0 of 1 requirement passed" in result.stdout
        [shown] = collect_verdicts(nbformat.read(output / "90_b.ipynb", 4))
        assert (shown.check, shown.outcome) == ("rules/since-2020", "failed")
        [failure] = self.cases(output)["rules/since-2020"]
        assert failure.tag == "failure"
        assert str(failure.text).startswith(f"RULES-2: {SENTENCES['RULES-2']}\n")
        assert SENTENCES["RULES-2"] in (output / "report.html").read_text()
        assert json.loads((output / "verdicts.json").read_text())["states"] == {"RULES-2": "failed"}

    def test_a_warned_check_counts_as_such(self, tmp_path: Path, fork_server: str) -> None:
        result, output = self.run(tmp_path, fork_server, "--only", "ACME")
        assert result.exit_code == 0
        assert "2 checks (1 warned, 1 passed), 1 of 2 requirements passed" in result.stdout
        root = ElementTree.parse(output / "junit.xml").getroot()
        [suite, _] = root
        assert (suite.get("name"), suite.get("tests"), suite.get("skipped")) == ("ACME-CLOCK", "2", "1")
        assert [each.attrib for each in suite.iter("property")] == [{"name": "warned", "value": "1"}]
        [warned] = self.cases(output)["acme/header"]
        assert warned.get("message") == "warned: header X-Acme: expected 'yes', got None"
        assert str(warned.text).startswith(f"ACME-CLOCK-7: {SENTENCES['ACME-CLOCK-7']}\n")

    def test_the_matrix_of_the_package_stays_as_it_is(self, tmp_path: Path, play: list[Any]) -> None:
        play += [{}, {}]
        folder = tmp_path / "notebooks"
        written(folder / "90_b.ipynb", KNOWS_ALL, SHOWS)
        matrix = tmp_path / "reports" / "conformance.md"
        assert labkit("--notebooks", folder).exit_code == 0
        before = matrix.read_text()
        assert labkit("--notebooks", folder, "--checks", ACME, "--json").exit_code == 0
        assert matrix.read_text() == before
        data = json.loads((tmp_path / "reports/latest/verdicts.json").read_text())
        assert data["requirements"] == {"passed": len(coverage().covered) + 2}
        assert str(ACME) not in json.dumps(data)

    def test_they_run_against_a_platform_elsewhere(self, tmp_path: Path, fork_server: str) -> None:
        with serving(tmp_path, LAB_YAML) as server:
            result, _ = self.run(tmp_path, fork_server, "--only", "ACME", "--target", server.target)
        assert result.exit_code == 0, result.stderr
        assert "2 checks (1 warned, 1 passed)" in result.stdout

    def test_their_folders_are_no_parameter_of_a_notebook(self, two: Path) -> None:
        result = labkit("--notebooks", two, "-p", 'checks=["a"]')
        assert "unknown parameter 'checks'" in result.stderr


class TestOutcome:
    def made(self, *verdicts: Any, error: Any = None) -> report.Report:
        run = NotebookRun(Path("01_a.ipynb"), notebook("# A"), error)
        return report.Report({}, (run,), verdicts, small())

    def test_a_run_without_checks_fails(self) -> None:
        assert not self.made().good
        assert self.made().problems() == ["no check ran"]

    def test_a_differing_choice_is_no_failure(self) -> None:
        made = self.made(
            verdict("two/other", "AA-ONE-2", "warned"), verdict("one/first", "AA-ONE-1", "skipped")
        )
        assert (made.good, made.problems()) == (True, ["warned 1 of choices that differ: two/other"])

    def test_checks_that_control_would_let_run_are_counted(self) -> None:
        needs = {
            each: next(check.name for check in coverage().checks if check.needs == set(each.split()))
            for each in ("clock", "settings", "settings files")
        }
        skipped = tuple(verdict(name, "DEV-TIME-1", "skipped") for name in needs.values())
        made = report.Report({}, (), skipped, coverage(), address="127.0.0.1:443")
        [said] = made.problems()
        assert said.startswith("skipped 2 that would run if the lab were served with `--control --seed 7`: ")
        assert "Skipped 2 that would run" in report.report_page(made)
        assert replace(made, address="").problems() == []

    def test_a_broken_check_is_a_failure(self) -> None:
        made = self.made(verdict("two/other", "AA-ONE-2", "broken", reason="TypeError: x"))
        assert (made.good, made.problems()) == (False, ["broken AA-ONE-2  two/other: TypeError: x"])

    def test_verdicts_are_a_line_each_without_durations(self) -> None:
        quick, slow = verdict("one/first", "AA-ONE-1"), verdict("one/first", "AA-ONE-1")
        object.__setattr__(slow, "seconds", 9.75)
        assert report.verdicts_json(self.made(quick)) == report.verdicts_json(self.made(slow))
        assert (
            sum(
                '"check": "one/first"' in line for line in report.verdicts_json(self.made(quick)).splitlines()
            )
            == 1
        )
