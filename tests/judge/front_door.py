"""Command that compares a file of tests with the checks: python -m tests.judge.front_door FILE."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import click

from labkit.conformance.check import all_checks
from labkit.conformance.fork_server import Ended, ForkServer
from labkit.core.errors import LabkitError
from tests.judge.equivalents import reason_of
from tests.judge.lines import Lines, recorded
from tests.judge.mutations import Mutation, drawn, home
from tests.judge.play import IMPORT, NOTICED, PRELOAD
from tests.judge.play_tests import SHARED
from tests.judge.trials import ATTEMPT as CHECKS
from tests.judge.trials import Trial, given_of, outcome

KEPT = Path("reports/judge/lines.json")
PARTS = ("services", "device_api", "solutions", "providers")
LEAST = 20.0  # seconds in which tests with a mutant end, or hang
FACTOR = 5  # the same, as a multiple of their time without one
RECORD, TESTS = "tests.judge.play_tests:record", "tests.judge.play_tests:attempt"
Reached = dict[str, dict[int, set[str]]]  # by module and line the names of the test functions


@dataclass
class Played:
    """A file of tests without a mutant. functions: their names, in order."""

    file: str
    functions: list[str]
    reached: Reached
    seconds: float

    def running(self, mutation: Mutation) -> list[str]:
        """Return the functions that run a changed line; all, if a shared fixture does."""
        lines = self.reached[mutation.module]
        names = {name for line in mutation.lines for name in lines.get(line, ())}
        return self.functions if SHARED in names else [each for each in self.functions if each in names]

    def alone(self, lines: Lines) -> Iterator[tuple[str, int, set[str]]]:
        """Yield the lines that no check runs, with the functions that do."""
        for module, found in self.reached.items():
            theirs = lines.ran.get(module, {})
            yield from ((module, line, found[line]) for line in sorted(found) if not theirs.get(str(line)))


def play(file: str, parts: tuple[str, ...], server: ForkServer) -> Played:
    """Play a file of tests without a mutant. Raises LabkitError if a test fails."""
    patterns = [f"{home()}/{each}/*" for each in parts]
    began = time.monotonic()
    reached: Reached = {}
    functions: dict[str, None] = {}
    for event in server.run(RECORD, [{"files": patterns, "tests": [file]}]):
        if isinstance(event, Ended):
            if event.error:
                raise LabkitError(f"front door: {file}: {event.error}: {event.printed[-500:]}")
        elif "failed" in event.message:
            raise LabkitError(f"front door: {file}: {event.message['failed']} fails without a mutant")
        elif "began" in event.message:
            functions[event.message["began"]] = None
        elif event.message["file"].endswith(".py"):  # others are templates
            path = Path(event.message["file"]).relative_to(home()).as_posix()
            reached[path] = {int(line): {*names} for line, names in event.message["lines"].items() if names}
    return Played(file, [*functions], reached, time.monotonic() - began)


def noticed(
    played: Played, mutations: list[Mutation], lines: Lines, server: ForkServer
) -> Iterator[tuple[Mutation, set[str]]]:
    """Yield the mutations that tests notice, with the functions that fail; all that run it, if one hangs."""
    seconds = max(LEAST, FACTOR * played.seconds)
    for each in mutations:
        tests = [f"{played.file}::{name}" for name in played.running(each)]
        names: set[str] = set()
        for event in server.run(TESTS, [{**given_of(each, lines), "tests": tests}], within=seconds):
            if isinstance(event, Ended):
                names.update(played.running(each) if event.error else ())
            elif failed := event.message.get("failed"):
                names.update(played.running(each) if failed == IMPORT else [failed])
        if names:
            yield each, names


def judge(mutation: Mutation, lines: Lines, server: ForkServer) -> Trial:
    """Play the checks that run a changed line, until one notices."""
    own = lines.checks_running(mutation)
    given = given_of(mutation, lines)
    given |= {"last": NOTICED, "checks": [each for each in given["checks"] if each[0] in own]}
    messages: list[Any] = []
    for event in server.run(CHECKS, [given]):  # each check has its own limit
        if isinstance(event, Ended):
            return outcome(mutation, messages, event)
        messages.append(event.message)
    raise AssertionError("no process has ended")


def draw(played: Played, seed: int) -> Iterator[Mutation]:
    """Return the mutations of lines that the tests run, equivalent ones excepted."""
    found = drawn([each for each in sorted(played.reached) if played.reached[each]], seed)
    return (each for each in found if played.running(each) and reason_of(each) is None)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--sample", "count", default=30, show_default=True, help="Mutations of lines that the file runs."
)
@click.option("--seed", default=0, help="Another one draws another sample; each file has its own.")
@click.option("--part", "parts", multiple=True, default=PARTS, show_default=True, help="Folders of labkit.")
@click.option(
    "--lines", "kept", type=click.Path(path_type=Path, dir_okay=False), default=KEPT, show_default=True
)
def main(file: str, count: int, seed: int, parts: tuple[str, ...], kept: Path) -> None:
    """Print which functions of a file of tests can go: the checks run all lines that these run, and notice all drawn
    mutations that these notice.

    Prints the lines that no check runs, and each mutation that the tests alone notice, with the functions that do.
    """
    stay: set[str] = set()
    judged: list[str] = []
    with ForkServer(PRELOAD) as server:
        lines = recorded(all_checks(), server, kept)
        played = play(file, parts, server)
        for module, line, names in played.alone(lines):
            stay |= names
            click.echo(f"{module}:{line} no check runs it: {', '.join(sorted(names))}")
        mutations = [*islice(draw(played, crc32(file.encode()) + seed), count)]
        for each, names in noticed(played, mutations, lines, server):
            judged.append(judge(each, lines, server).outcome)
            if judged[-1] == "survived":
                stay |= names
                click.echo(f"{each.diff()}\n  no check notices it: {', '.join(sorted(names))}")
    of = f"{sum(map(len, played.reached.values()))} lines, {len(mutations)} mutations"
    click.echo(f"{file}: {of}, {len(judged)} noticed, {judged.count('survived')} by tests alone")
    go = [] if SHARED in stay else [each for each in played.functions if each not in stay]
    click.echo(f"can go: {len(go)} of {len(played.functions)}: {', '.join(go)}")
    click.echo(f"stay: {', '.join(each for each in played.functions if each not in go)}")


if __name__ == "__main__":
    main()
