"""The command `labkit test`."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from labkit.commands.options import json_option
from labkit.core.commands import FOLDER, PATH, PRESENT_FOLDER, say

if TYPE_CHECKING:
    from labkit.script_tests.results import ScriptTestResults


@click.command(short_help="Run the tests in Lua of a solution's folder.")
@click.argument("folder", type=PRESENT_FOLDER)
@click.option(
    "-k", "--match", "words", metavar="TEXT", help="Run the tests that have this text in their name or file."
)
@click.option(
    "--without",
    metavar="TEXT",
    help="Leave out the tests that have this text, such as '#slow', in their name or file.",
)
@click.option(
    "--config",
    type=PATH,
    help="A lab.yaml with products, other solutions and settings; one of its solutions has this FOLDER.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the lab.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Tests at one time.")
@click.option(
    "--within",
    type=click.FloatRange(1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Real time after which a test fails.",
)
@click.option("--strict", is_flag=True, help="End with status 1 for warnings, too.")
@click.option(
    "--coverage",
    "pages",
    type=FOLDER,
    metavar="DIR",
    help="Measure which lines of FOLDER run; write pages in HTML and lcov.info into this folder.",
)
@click.option(
    "--coverage-min",
    "least",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Measure, and exit with 1 if fewer lines run.",
)
@json_option("Print all as JSON.")
def test(
    folder: Path,
    words: str | None,
    without: str | None,
    config: Path | None,
    seed: int,
    workers: int,
    within: float,
    strict: bool,
    pages: Path | None,
    least: float | None,
    as_json: bool,
) -> None:
    """Run the tests of FOLDER, which has the scripts of a solution.

    They are the files below tests/, and those whose names end in `_test.lua` or `_spec.lua`. Tests are written with
    describe, it and assert. Each has a lab of its own, on a virtual clock: `solution.get(path)`, `lab.advance(60)`,
    services such as `Keystore.get{…}`, and `require` of the folder's modules. Without --config, the lab has one
    product: that of services/device2.yaml, with the solution's id, else `device`, with the resources of
    specs/resources.yaml. Warnings name likely mistakes in the folder, and in calls of the tests and the scripts. The
    exit status is 1 if a test fails, and if the coverage is less than --coverage-min.
    """
    from labkit.core.errors import LabkitError, LabWarning
    from labkit.lab.folder_lab import lab_of_folder
    from labkit.script_tests.coverage import failure_of, make_folder

    index: Path | None = None
    try:
        if pages is not None:
            make_folder(pages)  # before the tests, which may take long
        found = lab_of_folder(folder, config, seed, covers=pages is not None or least is not None)
        with found.lab:
            tests = found.tests.find(words, without)
            results = found.tests.run(tests, workers=workers, within=within)
        if pages is not None and results.coverage is not None:
            index = results.coverage.write(pages)
    except LabkitError as error:
        say(f"labkit: {error}", err=True)
        sys.exit(2)
    _show(results, index, as_json)
    problem = failure_of(results.coverage, least or 0) if results.coverage is not None else ""
    texts = dict.fromkeys([*found.warnings, *results.warnings])
    for text in texts:
        warnings.warn(text, LabWarning, stacklevel=1)
    if problem:
        click.echo(f"labkit: {problem}", err=True)
    sys.exit(1 if results.failed or problem or (strict and texts) else 0)


def _show(results: ScriptTestResults, index: Path | None, as_json: bool) -> None:
    """Print results. index: the page of the coverage, if there is one."""
    from labkit.script_tests.results import failure_text, plain_results

    if as_json:
        click.echo(json.dumps(plain_results(results), indent=2))
        return
    for each in results:
        say(f"{each.status:8}{each.test.file}:{each.test.line}  {each.test.name}")
    for each in results.failed:
        click.echo(f"\n{failure_text(each)}", nl=False)
    click.echo(f"\n{results.summary}")
    if results.coverage is not None:
        click.echo(f"\n{results.coverage}")
    if index is not None:
        click.echo(f"\n{index}")
