"""The command `labkit hunt`."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from labkit.commands.hunted_program import OF_PROGRAM, program_story, real_seconds
from labkit.commands.options import json_option
from labkit.core.commands import FOLDER, INTERRUPTED, duration_seconds
from labkit.core.errors import LabError, SettingsError
from labkit.core.extras import check_installed

if TYPE_CHECKING:
    from labkit.hunt.story import Story


OF_REPLAY = ("places", "is_replay", "as_json", "shrink")  # parameters


class Duration(click.ParamType[float]):
    """A duration in real time: `30s`, `5m`, `1h`, or a number of seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            return duration_seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(short_help="Play many futures of a story, in search of one that breaks a promise.")
@click.argument("places", nargs=-1, metavar="[STORIES | FILE...]")
@click.option(
    "--seeds", type=click.IntRange(min=1), help="Number of plays.  [default: 1000, or any with --time]"
)
@click.option("--time", type=Duration(), help="Real time after which no play begins: 30s, 5m, 1h.")
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    help="Number of processes, 0 for this one.  [default: one for each core]",
)
@click.option(
    "--level",
    type=click.Choice(["calm", "rough", "wild"]),
    default="rough",
    show_default=True,
    help="Faults that are drawn: none but overlap, few, or many and long ones.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="First seed.")
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter of the story.")
@click.option(
    "--all",
    "plays_all",
    is_flag=True,
    help="Play all seeds, rather than end with the first failure.",
)
@click.option(
    "--failures",
    type=FOLDER,
    default=Path("failures"),
    show_default=True,
    help="Folder for failures. Those of earlier hunts are played first.",
)
@click.option(
    "--replay",
    "is_replay",
    is_flag=True,
    help="Play the failures of these files again, instead of a hunt.",
)
@click.option(
    "--shrink",
    type=click.IntRange(min=0),
    metavar="N",
    help="Plays in which a failure is cut down, 0 for not at all; with --replay, cut down those of the files further.  "
    "[default: 400]",
)
@click.option(
    "--strict", is_flag=True, help="Exit status 1 for warnings, and promises never put to the test, too."
)
@click.option("--dask", metavar="ADDRESS", help="Scheduler of a dask cluster, whose workers play.")
@click.option(
    "--kinds",
    metavar="NAMES",
    help="Kinds of faults that are drawn, or groups: requests,programs. `help` prints all, and how large they are.",
)
@click.option(
    "--without", metavar="NAMES", help="Kinds or groups that are not drawn, or in_step: events,in_step."
)
@click.option(
    "--bound",
    "bounds",
    multiple=True,
    metavar="KIND.SETTING=VALUE",
    help="Bound of a kind's setting, which is drawn then: 'calls.delay=1..30', 'call error.where=Keystore.*,!*.get'.",
)
@click.option("--twice", "is_twice", is_flag=True, help="Play each seed two times, and compare the journals.")
@click.option("--firmware", metavar="COMMAND", help="Program that lives in the lab, instead of STORIES.")
@click.option("--days", type=click.FloatRange(min=0), help="Days that the program lives.  [default: 1]")
@click.option("--hours", type=click.FloatRange(min=0), help="Hours that the program lives.")
@click.option("--identity", help="Identity of the device.  [default: the last word of COMMAND]")
@click.option("--product", help="Product of the device.  [default: the only one of --config, or `device`]")
@click.option(
    "--resource", "resources", multiple=True, metavar="ALIAS=FORMAT", help="Resource of a new product."
)
@click.option("--config", metavar="FILE", help="lab.yaml with the products and solutions of the lab.")
@click.option(
    "--env", multiple=True, metavar="NAME=VALUE", help="Variable of the program; {url} is its product's URL."
)
@json_option("Print a line of JSON for each story or file.")
def hunt(
    places: tuple[str, ...],
    is_replay: bool,
    parameters: tuple[str, ...],
    failures: Path,
    as_json: bool,
    plays_all: bool,
    is_twice: bool,
    kinds: str | None,
    without: str | None,
    bounds: tuple[str, ...],
    strict: bool,
    shrink: int | None,
    **options: Any,
) -> None:
    """Play many futures of a story; exit status 0 if none breaks a promise, otherwise 1.

    STORIES is stories.py::outage, stories.py for all stories of a file, or package.stories:outage. Each play has a
    seed, from which values, latencies and faults are drawn. The first failure is cut down to the smallest play that
    breaks the same promise, and written to a file with a pytest function, which repeats it. An error of the code of
    the story or of a promise is printed, and not written.

    A warning leaves the exit status as it is, since it is a guess: the last line says that there are warnings, or
    promises that no play put to the test. With --strict both have exit status 1, as a hunt in CI may want it. So it
    is with plays that a limit of real time has ended, which is the machine's.

    The files of earlier hunts are played first. If one breaks again, the hunt does not begin: mend what it tests, or
    delete the file. One that tests nothing any more does not stop the hunt, but has exit status 1.

    With --replay, exit status 0 says that no file breaks anything any more. A file with faults of a solution that has
    another name now, or whose promise nothing put to the test, tests nothing, and has status 1. With --shrink N too,
    the play of each file is cut down in N more plays, and a file with the smaller play replaces it.

    With --firmware a program lives in the lab, as `lab.firmware` lets it, and no Python is needed: ready promises say
    that it does not crash, does not stop polling, sends no storm of requests, recovers after faults, and that nothing
    that was acknowledged is lost. Words of COMMAND that are files are relative to the current folder.

    With --twice, nothing is hunted: exit status 0 says that the two plays of each seed have equal journals, byte for
    byte; otherwise the first record that differs is printed.

    Ctrl-C and SIGTERM end a hunt, or what cuts down a file, with what is known so far and exit status 130.
    """
    if kinds == "help":
        from labkit.hunt.faults.sizes import help_text

        click.echo(help_text())
        return
    check_installed("lab", "labkit hunt takes", "hypothesis", "cloudpickle")
    if is_replay:
        if not places:
            raise SettingsError(
                "--replay: expected files that a hunt has written, such as failures/test_*.py"
            )
        _expect_replay_alone((*OF_REPLAY, "workers") if shrink else OF_REPLAY)
        play = partial(_cut_down, shrink, options["workers"]) if shrink else _replay
        statuses: list[int] = []
        for each in places:
            statuses.append(play(Path(each), as_json))
            if statuses[-1] == INTERRUPTED:
                break
        sys.exit(max(statuses))
    given = dict(map(_parameter, parameters))
    program = {name: options.pop(name) for name in OF_PROGRAM}
    stories, given = _stories(places, program, given, quiet=as_json)
    if kinds is not None or without is not None or bounds:
        options["level"] = _menu(options["level"], kinds, without, bounds)
    options |= {"first_seed": options.pop("seed"), "parameters": given}
    if is_twice:
        sys.exit(_twice(stories, as_json, options))
    if program["firmware"] is not None:
        options |= real_seconds(given)
    if shrink is not None:
        options["shrink"] = shrink
    options |= {"failures": failures, "stop": "never" if plays_all else "first"}
    sys.exit(_hunt(stories, as_json, strict, options))


def _stories(
    places: tuple[str, ...], program: dict[str, Any], given: dict[str, object], *, quiet: bool
) -> tuple[list[Story], dict[str, object]]:
    """Return the stories to play, and their parameters. quiet: whether what a program lives in is not printed."""
    from labkit.hunt.plays.loading import load_stories

    if program["firmware"] is None:
        if used := [each for each in OF_PROGRAM if program[each]]:
            name = "resource" if used[0] == "resources" else used[0]
            raise SettingsError(f'--{name}: needs a program: --firmware "./client t-001"')
        if len(places) != 1:
            raise SettingsError(
                "expected one place of STORIES, such as stories.py::outage, --firmware COMMAND, or --replay FILE..."
            )
        return load_stories(places[0]), given
    if places:
        raise SettingsError(f"--firmware: expected no STORIES beside it, not {places[0]!r}")
    story, given, made = program_story(program, given)
    if not quiet:
        click.echo(made)
    return [story], given


def _menu(level: str, kinds: str | None, without: str | None, bounds: tuple[str, ...]) -> Any:
    """Return the menu of the faults that are drawn. Raises SettingsError for a wrong name or bound."""
    from labkit.hunt.faults.menu import Menu
    from labkit.hunt.kinds import GROUPS

    names, left_out = GROUPS if kinds is None else _names(kinds), _names(without or "")
    _expect_choice("--kinds", [*names])
    _expect_choice("--without", [*GROUPS], left_out)
    given: dict[str, dict[str, object]] = {each: {} for each in names}
    for each in bounds:
        key, separator, value = each.partition("=")
        name, dot, setting = key.rpartition(".")
        if not (separator and dot):
            raise SettingsError(f"--bound {each}: expected KIND.SETTING=VALUE")
        given.setdefault(name, {})[setting] = bound = _bound(value)
        _expect_choice(f"--bound {each}", {name: {setting: bound}})
    return Menu(level, kinds=given if bounds else [*names], without=left_out)


def _expect_choice(option: str, names: Any, without: Iterable[str] = ()) -> None:
    from labkit.hunt.fault_choice import FaultChoice

    try:
        FaultChoice.of(names, without)
    except LabError as error:
        raise SettingsError(f"{option}: {error}") from None


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _bound(text: str) -> object:
    """Return a bound of `30`, `1..30`, `false`, or patterns with commas."""
    if text in ("true", "false"):
        return text == "true"
    try:
        numbers = [float(each) for each in text.split("..")]
    except ValueError:
        return _names(text)
    return numbers if len(numbers) > 1 else numbers[0]


def _twice(stories: list[Story], as_json: bool, options: dict[str, Any]) -> int:
    """Play each seed of each story two times, and return the exit status."""
    from labkit.hunt.search.determinism import play_twice

    found = [play_twice(each, **options) for each in stories]
    for each in found:
        click.echo(json.dumps(each.as_dict()) if as_json else each.text)
    return 0 if all(each.good for each in found) else 1


def _expect_replay_alone(known: Iterable[str]) -> None:
    """Raise SettingsError for an option beside --replay that a written play would ignore. known: others."""
    context = click.get_current_context()
    for each in context.command.params:
        given = context.get_parameter_source(each.name or "") is ParameterSource.COMMANDLINE
        if given and each.name not in known:
            raise SettingsError(
                f"--replay: expected no {each.opts[0]} beside it: the file has its parameters, seed, values and faults"
            )


def _hunt(stories: list[Story], as_json: bool, strict: bool, options: dict[str, Any]) -> int:
    """Hunt each story, and return the exit status. strict: whether warnings count."""
    from labkit.hunt.search.hunt import hunt
    from labkit.reporting.failure_files import keep_failures

    status = 0
    for story in stories:
        found = hunt(story, **options)
        kept = keep_failures(found, options["failures"])
        if as_json:
            files = {title: None if each.play is None else str(each.play) for title, each in kept.items()}
            pages = {title: None if each.page is None else str(each.page) for title, each in kept.items()}
            click.echo(json.dumps(found.as_dict() | {"files": files, "pages": pages}))
        else:
            click.echo("\n".join([found.text(), *(line for each in kept.values() for line in each.lines)]))
        if found.interrupted:
            return INTERRUPTED
        status = 1 if not found.good or (strict and found.reservations) else status
    return status


def _replay(file: Path, as_json: bool) -> int:
    """Play the play of a file again, and return the exit status. Prints the error of a file that cannot be played."""
    from labkit.hunt.plays.replaying import replay
    from labkit.hunt.plays.written import read

    try:
        found = replay(read(file), beside=file, check=False)
    except LabError as error:
        click.echo(f"labkit: {error}", err=True)
        return 1
    click.echo(json.dumps({"file": str(file), **found.as_dict()}) if as_json else f"{file}: {found.text}")
    return 0 if found.state == "kept" else 1


def _cut_down(plays: int, workers: int | None, file: Path, as_json: bool) -> int:
    """Cut down the play of a file further, replace the file, and return the exit status."""
    from labkit.hunt.search.continued import cut_down_file
    from labkit.hunt.search.hunted import failure_data
    from labkit.reporting.failure_files import keep_failure

    try:
        failure = cut_down_file(file, plays, workers)
    except LabError as error:
        click.echo(f"labkit: {error}", err=True)
        return 1
    kept = keep_failure(failure, file.parent)
    if kept.play is not None and not kept.play.samefile(file):
        for each in (file, file.with_suffix(".html")):
            each.unlink(missing_ok=True)
    if as_json:
        click.echo(json.dumps({"file": str(kept.play or file), **failure_data(failure)}))
    else:
        click.echo("\n".join([str(failure), *kept.lines]))
    return INTERRUPTED if failure.smallest is not None and failure.smallest.interrupted else 1


def _parameter(text: str) -> tuple[str, object]:
    """Return a parameter of `NAME=VALUE`: a Python literal such as 3, or else a text."""
    name, separator, value = text.partition("=")
    if not (name and separator):
        raise SettingsError(f"--set {text}: expected NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
