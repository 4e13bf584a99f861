"""Command that judges the checks by mutants of the code: python -m tests.judge."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from tqdm import tqdm

from labkit.conformance.check import all_checks
from labkit.conformance.fork_server import ForkServer
from labkit.core.errors import LabkitError
from tests.judge.equivalents import outdated
from tests.judge.lines import Lines, recorded
from tests.judge.mutations import FOLDERS, LEFT_OUT, Mutation, modules_of, mutations_of
from tests.judge.play import PRELOAD
from tests.judge.trials import Figures, Trial, figures, judged, sample

UNNOTICED = ("survived", "warned", "broken")
KEPT = Path("reports/judge/lines.json")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--folder", "folders", multiple=True, type=click.Choice(FOLDERS), help="Of labkit; all, if none."
)
@click.option("--sample", "count", default=150, show_default=True, help="Mutants of each folder.")
@click.option("--seed", default=1, show_default=True, help="Another one draws another sample.")
@click.option(
    "--only", multiple=True, metavar="ID", help="This mutant of the folders alone, equivalent or not."
)
@click.option("--processes", default=1, show_default=True, help="Mutants at a time.")
@click.option(
    "--json",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write each trial there, a line of JSON, then the figures of each folder.",
)
@click.option(
    "--lines",
    "kept",
    type=click.Path(path_type=Path, dir_okay=False),
    default=KEPT,
    show_default=True,
    help="Keeps which checks run which lines, until a source changes.",
)
def main(
    folders: Sequence[str],
    count: int,
    seed: int,
    only: Sequence[str],
    processes: int,
    file: Path | None,
    kept: Path,
) -> None:
    """Put mutants into the serving code, one at a time, and print the ones that the checks do not notice.

    A mutant is noticed if a check fails or hangs; one for which a check only warns or breaks is counted separately.
    Prints a diff of each unnoticed mutant, a table by folder, and the folders that are left out. First the checks run
    without a mutant, and once more to record the lines that each runs: a minute or two, unless no source has
    changed since.
    """
    began = time.monotonic()
    folders = folders or FOLDERS
    trials: list[Trial] = []
    try:
        with ForkServer(PRELOAD) as server, _writer(file) as write:
            checks = all_checks()
            with tqdm(total=2 * len(checks), desc="checks", unit="check", leave=False) as bar:
                lines = recorded(checks, server, kept, lambda name: bar.update())
            for folder in folders:
                mutants = _named(folder, only) if only else sample(folder, seed)
                trials += _judged(
                    folder, mutants, len(only) or count, not only, lines, server, processes, write
                )
            if missing := {*only} - {each.mutation.id for each in trials}:
                raise LabkitError(f"judge: --only: there is no mutant {', '.join(sorted(missing))}")
    except LabkitError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    for each in trials:
        if each.outcome in UNNOTICED:
            click.echo(f"{each.mutation.diff()}\n  {each.outcome} {each.by} {each.why}\n")
    for each in trials if only else ():
        click.echo(f"{each.mutation.id} {each.outcome} {each.by} {each.why}".rstrip())
    rows = [figures(folder, trials) for folder in folders]
    click.echo(table(rows))
    for path, reason in LEFT_OUT.items():
        if path.partition("/")[0] in folders:
            click.echo(f"left out: {path}: {reason}")
    if file is not None:
        with file.open("a", encoding="utf-8") as lines_of_json:
            lines_of_json.writelines(json.dumps(each.as_dict()) + "\n" for each in rows)
    for key in outdated():
        click.echo(
            f"equivalent.toml: no such mutant any more: {key.module}: {key.function}: {key.code}", err=True
        )
    click.echo(f"{time.monotonic() - began:.0f} s")


@contextmanager
def _writer(file: Path | None) -> Iterator[Callable[[Trial], object]]:
    """Provide a function that writes each trial as a line of JSON at once, so that an interrupted run keeps them."""
    if file is None:
        yield lambda trial: None
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", buffering=1) as lines:
        yield lambda trial: lines.write(json.dumps(trial.as_dict()) + "\n")


def _judged(
    folder: str,
    mutants: Iterator[Mutation],
    count: int,
    known: bool,
    lines: Lines,
    server: ForkServer,
    processes: int,
    write: Callable[[Trial], object],
) -> list[Trial]:
    with tqdm(total=count, desc=folder, unit="mutant", leave=False) as bar:
        survivors = 0

        def progress(trial: Trial) -> None:
            nonlocal survivors
            survivors += trial.outcome in UNNOTICED
            bar.set_postfix(unnoticed=survivors)
            bar.update(trial.outcome != "incompetent")
            write(trial)

        return judged(mutants, count, lines, server, processes, progress, known=known)


def _named(folder: str, ids: Sequence[str]) -> Iterator[Mutation]:
    for module in modules_of(folder):
        yield from (each for each in mutations_of(module) if each.id in ids)


def table(rows: Sequence[Figures]) -> str:
    """Return the figures by folder as text."""
    head = f"{'folder':12}{'mutants':>9}{'killed':>9}{'timeouts':>10}{'warned':>8}{'broken':>8}{'equivalent':>12}"
    lines = [f"{head}{'survivors':>11}{'% not failed':>14}"]
    lines += [
        f"{each.folder:12}{each.mutants:9}{each.killed:9}{each.timeouts:10}{each.warned:8}{each.broken:8}"
        f"{each.equivalent:12}{each.survivors:11}{each.percent:14.1f}"
        for each in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
