"""Conformance checks as tests: one item a check, with the verdicts of a report."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from labkit.conformance import processes
from labkit.conformance.catalogue import load
from labkit.conformance.check import all_checks, select
from labkit.conformance.target import LAB_YAML
from labkit.testing.requirements import CheckItem
from labkit.testing.server import LabServer, serving
from tests import plugins
from tests.conformance.own_folders import ACME, RULES, SENTENCES
from tests.conformance.own_folders import OUTCOMES as OWN_OUTCOMES
from tests.rig import ran

OUTCOMES = {"passed": "PASSED", "failed": "FAILED", "broken": "FAILED", "warned": "XFAIL"}  # others: SKIPPED

OWN = {name: OUTCOMES[outcome] for name, outcome in OWN_OUTCOMES.items()}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["pytest", "-p", "no:cacheprovider", "--pyargs", "labkit.conformance", *arguments]
    environment = os.environ | plugins.ENVIRONMENT
    return ran(*command, cwd=folder, env=environment)


@pytest.fixture(scope="module")
def deviating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A platform that deviates from a must and from a choice."""
    faults = [
        {"where": "GET /timestamp", "if_status": 200, "edit": {".": "[:-1]"}},
        {"where": "GET /timestamp", "if_given": {"@X-Platform-CIK": "*"}, "status": 401},
    ]
    with serving(tmp_path_factory.mktemp("deviating"), LAB_YAML, faults=faults) as server:
        yield server


def test_each_check_is_an_item_with_its_requirements_and_level(tmp_path: Path) -> None:
    ended = run(tmp_path, "--collect-only", "-q", "--strict-markers")
    listed = [line for line in ended.stdout.splitlines() if line.startswith("labkit.conformance::")]
    assert listed == [f"labkit.conformance::{each.name}" for each in all_checks()]
    chosen = run(tmp_path, "--collect-only", "-q", "-k", "DEV-TIME", "-m", "choice").stdout
    levels = {each.id: each.level for each in load()}
    expected = [
        each.name
        for each in select(all_checks(), "DEV-TIME")
        if all(levels[name] == "choice" for name in each.requirements)
    ]
    assert expected
    assert re.findall(r"labkit\.conformance::(\S+)", chosen) == expected


def test_a_local_lab_passes_on_several_workers(tmp_path: Path) -> None:
    ended = run(tmp_path, "-q", "-n", "2", "-k", "DEV-TIME")
    assert ended.returncode == 0, ended.stdout
    assert f"{len(select(all_checks(), 'DEV-TIME'))} passed" in ended.stdout


@pytest.mark.sampled
def test_verdicts_are_those_of_a_report(tmp_path: Path, deviating: LabServer) -> None:
    checks = select(all_checks(), "DEV-TIME")
    verdicts = processes.play(checks, deviating.target, 7)
    assert {each.outcome for each in verdicts} == {"passed", "failed", "warned", "skipped"}
    ended = run(tmp_path, "-v", "-k", "DEV-TIME", "--labkit-url", deviating.target)
    shown = dict(re.findall(r"^labkit\.conformance::(\S+) ([A-Z]+)", ended.stdout, re.MULTILINE))
    assert shown == {each.check: OUTCOMES.get(each.outcome, "SKIPPED") for each in verdicts}
    assert ended.returncode == 1


def test_a_failure_has_the_sentence_of_its_requirement(tmp_path: Path, deviating: LabServer) -> None:
    ended = run(tmp_path, "-q", "-k", "timestamp/is-now", "--labkit-url", deviating.target)
    catalogue = load()
    [check] = [each for each in all_checks() if each.name == "timestamp/is-now"]
    for name in check.requirements:
        assert f"{name} ({catalogue[name].level}): {catalogue[name].text}" in ended.stdout
    assert "failed: " in ended.stdout
    assert "GET /timestamp" in ended.stdout
    assert "Traceback" not in ended.stdout
    assert "requirements.py" not in ended.stdout


def test_a_target_that_lacks_products_is_one_line(tmp_path: Path) -> None:
    with serving(tmp_path, products=[{"id": "thermostat"}]) as server:
        ended = run(tmp_path, "-q", "--labkit-url", server.target)
    assert ended.returncode == 2
    [line] = [line for line in ended.stdout.splitlines() if "--labkit-url:" in line and "ERROR" not in line]
    some, file = r"(\S+, ){2}\S+ and \d+ more", re.escape(str(LAB_YAML))
    assert re.fullmatch(
        rf"--labkit-url: target: it lacks the products {some} and the solutions {some}; "
        rf"start it with `labkit serve --conformance`, or serve {file}",
        line.removeprefix("E   "),
    )
    assert "Traceback" not in ended.stdout


def test_other_sessions_collect_no_checks(tmp_path: Path) -> None:
    """Not those of a folder that has the package, either."""
    ended = ran(
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q", LAB_YAML.parent),
        cwd=tmp_path,
    )
    assert ended.returncode == 5, ended.stdout
    assert CheckItem.__name__ not in ended.stdout


class TestOwnChecks:
    GIVEN = (f"--labkit-checks={ACME}", f"--labkit-checks={RULES}", "-k", "ACME or RULES")

    def test_they_are_tests_as_those_of_the_package_on_several_workers(self, tmp_path: Path) -> None:
        ended = run(tmp_path, *self.GIVEN, "-v", "-n", "2", "--junit-xml", "junit.xml")
        shown = re.findall(
            r"^\[gw\d\] \[.*\] ([A-Z]+) labkit\.conformance::(\S+)", ended.stdout, re.MULTILINE
        )
        assert {name: outcome for outcome, name in shown} == OWN
        assert f"RULES-2 (must): {SENTENCES['RULES-2']}" in ended.stdout
        cases = {
            each.get("name"): each for each in ElementTree.parse(tmp_path / "junit.xml").iter("testcase")
        }
        [failure], [warned] = cases["rules/since-2020"], cases["acme/header"]
        assert failure.tag == "failure"
        assert SENTENCES["RULES-2"] in str(failure.get("message"))
        assert warned.tag == "skipped"
        assert str(warned.get("message")).startswith("warned: ")
        assert not [*cases["acme/ten-digits"]]

    def test_they_run_against_a_platform_elsewhere(self, tmp_path: Path, deviating: LabServer) -> None:
        ended = run(tmp_path, *self.GIVEN, "-v", "--labkit-url", deviating.target)
        shown = dict(re.findall(r"^labkit\.conformance::(\S+) ([A-Z]+)", ended.stdout, re.MULTILINE))
        assert shown == {**OWN, "acme/ten-digits": "FAILED", "rules/since-2020": "SKIPPED"}

    def test_a_wrong_folder_is_one_line(self, tmp_path: Path) -> None:
        ended = run(tmp_path, "-q", "--labkit-checks=nowhere")
        assert ended.returncode == 2
        lines = [line for line in ended.stdout.splitlines() if "nowhere" in line]
        assert lines == ["--labkit-checks: checks: nowhere: there is no such folder"]
        assert "Traceback" not in ended.stdout
