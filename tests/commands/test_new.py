"""`labkit new`, and `labkit serve` of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import forked_starts
from tests.rig import invoked

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from


def test_a_new_folder_checks_tests_and_serves_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "My Weather"
    assert invoked("new", folder).exit_code == 0
    checked = invoked("check", "--strict", folder)
    assert (checked.exit_code, checked.stderr) == (0, "")
    assert invoked("test", "--strict", folder).output.endswith("1 passed\n")
    with forked_starts.serving(folder, "--reload", "--set", "https_port=0") as (process, ready):
        assert ready["resources"] == {"myweather": ["temperature", "target"]}
        port = ready["https_port"]
        assert ready["solutions"] == {"myweather": f"https://myweather.apps.lab.localhost:{port}"}
        (folder / "services/device2.yaml").write_text("resources: {temperature: {format: numbr}}\n")
        line = process.stderr.readline()
        assert line.startswith(
            f"reload: solution myweather: {folder}: services/device2.yaml:1: resources.temp"
        )
    assert invoked("serve", folder, "--set", "https_port=0").exit_code == 1


def test_a_path_without_a_solution_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("")
    lab_yaml = tmp_path / "lab.yaml"
    for path, more, expected in (
        (
            tmp_path,
            (),
            f"has no file of a solution (endpoints/, services/, modules/ …); did you mean --config {lab_yaml}?",
        ),
        (lab_yaml, (), f"is no folder: expected the folder of a solution; did you mean --config {lab_yaml}?"),
        (tmp_path, ("--conformance",), "a folder: cannot go with --config or --conformance"),
        (tmp_path / "none", (), "none: no such folder"),
    ):
        result = invoked("serve", path, *more)
        assert (result.exit_code != 0, expected in result.output) == (True, True), result.output
    refused = invoked("new", tmp_path)
    assert refused.output == f"labkit: {tmp_path}: has files already: expected a new or an empty folder\n"
