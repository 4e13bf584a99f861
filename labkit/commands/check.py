"""The command `labkit check`."""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labkit.commands.options import json_option, overlay_options
from labkit.core.commands import PATH, say

if TYPE_CHECKING:
    from labkit.settings import LabSettings
    from labkit.solutions.checking.listing import FileListing

NAME = "lab.yaml"


@dataclass
class Checked:
    """Findings of a check. files: by folder; stubs: Python code by missing service."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: dict[str, list[FileListing]] = field(default_factory=dict)
    stubs: dict[str, str] = field(default_factory=dict)


@click.command(short_help="Check a solution's folder, or a lab.yaml, without serving it.")
@click.argument("path", metavar="FOLDER|FILE", type=PATH)
@click.option("--files", is_flag=True, help="List the files of solutions; without it for a FOLDER alone.")
@click.option("--strict", is_flag=True, help="End with status 1 for warnings, too.")
@json_option("Print all as JSON.")
@overlay_options
def check(
    path: Path,
    files: bool,
    strict: bool,
    as_json: bool,
    assignments: tuple[str, ...],
    faults: tuple[str, ...],
) -> None:
    """Check the FOLDER of a solution, or FILE, a lab.yaml, with the scripts of its solutions.

    Prints a line for each problem; the exit status is 1 if there is any. A warning is a line, too:
    an event handler or a fault that nothing will reach, a call of a service or an operation that is
    not there. For a folder, lists each file with what it holds and calls, notes of what may be
    intended, and a stub for each missing service. Files with tests are read, too. Nothing is
    started: no script and no test runs, no port is opened, and no data file is touched. Python
    files that `stubs` names are run. For the same names while you write: labkit docs --lua-types.
    """
    from labkit.core.errors import LabWarning, SettingsError

    try:
        settings = _settings(path, assignments, faults)
        found = _checked(settings)
        is_empty = all(each.kind == "other" for one in found.files.values() for each in one)
        is_lab = (path / NAME).is_file()
        if path.is_dir() and is_empty and (is_lab or not (found.errors or found.warnings)):
            meant = f"; did you mean {path / NAME}?" if is_lab else ""
            found.warnings.append(
                f"{path}: has no file of a solution (endpoints/, services/, modules/ …){meant}"
            )
    except SettingsError as error:
        found = Checked(errors=list(error.parts))
    if as_json:
        click.echo(json.dumps(_plain(found), indent=2))
    else:
        if files or path.is_dir():
            _list(found)
        for text in found.warnings:
            warnings.warn(text, LabWarning, stacklevel=1)
        if not found.errors and not found.warnings:
            say(f"{path}: no problems")
        for each in found.errors:
            say(each, err=True)
    sys.exit(1 if found.errors or (strict and found.warnings) else 0)


def _settings(path: Path, assignments: tuple[str, ...], faults: tuple[str, ...]) -> LabSettings:
    """Return the settings in a lab.yaml, or those of a lab with the solution of a folder. Raises SettingsError."""
    from labkit.settings import SolutionSettings, load

    if not path.is_dir():
        _expect_no_project(path)
        return load(path, assignments=assignments, faults=faults)
    solution = SolutionSettings(id="solution", path=(path,))
    return load(None, assignments=assignments, faults=faults).model_copy(update={"solutions": (solution,)})


def _expect_no_project(path: Path) -> None:
    """Raise SettingsError for the project file of a solution, which is checked with its folder."""
    from labkit.core.errors import SettingsError
    from labkit.core.lined_yaml import read_yaml
    from labkit.solutions.folders.project import KEYS, OLDER

    if path.suffix == ".lua":
        raise SettingsError(f"{path}: is a script: expected the folder of its solution, or a {NAME}")
    is_project = path.name == OLDER
    if path.is_file() and not is_project:
        try:
            values, _ = read_yaml(path)
        except SettingsError:  # reading it as a lab.yaml says more
            return
        is_project = isinstance(values, dict) and KEYS & values.keys() != set()
    if is_project:
        raise SettingsError(f"{path}: is the project file of a solution: expected its folder, {path.parent}")


def _checked(settings: LabSettings) -> Checked:
    from labkit.control.hints import missing_services, settings_warnings, solution_files
    from labkit.platform import Platform
    from labkit.solutions.checking.test_review import review_tests
    from labkit.solutions.solutions import folder_names

    platform = Platform(settings)
    found = Checked(platform.problems())
    found.warnings += dict.fromkeys([*platform.solutions.warnings(), *settings_warnings(platform)])
    for solution in platform.solutions:
        if names := folder_names(solution.settings):
            tests = review_tests(solution, platform.services)
            found.files[names] = [*solution_files(platform, solution), *tests]
            for each in (one for file in tests for one in file.findings):
                (found.errors if each.level == "error" else found.warnings).append(f"{names}: {each}")
            found.stubs |= missing_services(platform, solution)
    return found


def _list(found: Checked) -> None:
    """Print the files of each solution, with notes, and stubs of missing services."""
    for folder, files in found.files.items():
        say(f"{folder}:")
        width = max((len(each.file) for each in files), default=0)
        for each in files:
            calls = f"  calls {', '.join(each.calls)}" if each.calls else ""
            holds = f": {', '.join(each.holds)}" if any(each.holds) else ""
            say(f"  {each.file:{width}}  {each.kind}{holds}{calls}")
            for one in each.findings:
                if one.level == "note":
                    say(f"  {'':{width}}  note: {f'line {one.line}: ' if one.line else ''}{one.text}")
    for service, code in found.stubs.items():
        for line in (
            *("", f"A stub of {service}, with the operations and arguments that the scripts use:", ""),
            *(*code.split("\n"), ""),
        ):
            say(line)


def _plain(found: Checked) -> dict[str, Any]:
    """Return what was found as plain data, for JSON."""
    files = {
        folder: [{**asdict(each), "findings": [one._asdict() for one in each.findings]} for each in listed]
        for folder, listed in found.files.items()
    }
    return {"errors": found.errors, "warnings": found.warnings, "files": files, "stubs": found.stubs}
