"""The commands of `labkit`: report, serve, docs, fleet, list, bench."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labkit.commands.call import call
from labkit.commands.check import check
from labkit.commands.diff import diff
from labkit.commands.docs import docs
from labkit.commands.hunt import hunt
from labkit.commands.logs import logs
from labkit.commands.new import new
from labkit.commands.options import json_option, only_option, overlay_options, own_checks_option
from labkit.commands.page import page
from labkit.commands.serve import serve
from labkit.commands.test import test
from labkit.core import __version__
from labkit.core.commands import (
    FILE,
    FOLDER,
    INTERRUPTED,
    PATH,
    PRESENT_FILE,
    PRESENT_FOLDER,
    Commands,
    Finite,
)
from labkit.core.errors import SettingsError
from labkit.core.extras import check_installed

if TYPE_CHECKING:
    from labkit.fleet.measures import Tick

# packages of labkit[lab]
JUPYTER = ("ipykernel", "matplotlib", "nbconvert", "nbformat", "pandas", "papermill", "tqdm")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="labkit")
def main() -> None:
    """A laboratory for an IoT platform, in one process."""


for each in (new, serve, check, test, call, logs, page, diff, docs, hunt):
    main.add_command(each)


class FleetCommand(click.Command):
    """Command whose help lists the behaviours and measures, imported only for the help."""

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        from labkit.fleet.behaviours import BEHAVIOURS
        from labkit.lab.thresholds import measure_descriptions

        with formatter.section("Behaviours"):
            known = BEHAVIOURS.items()
            formatter.write_dl([(name, (each.__doc__ or "").partition("\n\n")[0]) for name, each in known])
        with formatter.section("Measures of --fail-if"):
            formatter.write_dl(measure_descriptions())


@main.command(
    cls=FleetCommand, short_help="Run virtual devices against a lab, or against a platform elsewhere."
)
@click.option("--config", type=PATH, help="Run in a new lab with this lab.yaml.")
@overlay_options
@click.option(
    "--target", help="A platform elsewhere: the output of `serve --json`, a file with it, or a URL."
)
@click.option("--ca-file", type=PATH, help="CA certificate for the URL of --target.")
@click.option(
    "--product",
    required=True,
    help="Product of the devices; any name with a URL, which identifies the product.",
)
@click.option(
    "--devices", type=click.IntRange(min=1), default=10, show_default=True, help="Number of devices."
)
@click.option(
    "--behaviour", default="thermostat", show_default=True, help="Their behaviour: a name, or module:Class."
)
@click.option(
    "-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter of the behaviour."
)
@click.option("--days", type=Finite(min=0), default=0.0, help="Duration in lab time; the units add up.")
@click.option("--hours", type=Finite(min=0), default=0.0, help="Hours of lab time, added to the days.")
@click.option("--minutes", type=Finite(min=0), default=0.0, help="Minutes of lab time, added to the days.")
@click.option("--seconds", type=Finite(min=0), default=0.0, help="Seconds of lab time, added to the days.")
@click.option("--seed", type=int, help="Makes the run repeatable; by default random, and shown.")
@click.option("--prefix", default="", help="Prefix of the identities.")
@click.option(
    "--speed",
    type=Finite(min=0),
    help="Lab seconds per second; 0, the default, is a virtual clock: as fast as possible.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Number of processes, on a running clock.")
@click.option(
    "--transport",
    type=click.Choice(["tls", "memory"]),
    help="memory leaves TLS out, which saves about a quarter of the time; not with --target.  [default: tls]",
)
@click.option(
    "--auth",
    type=click.Choice(["token", "password", "certificate"]),
    help="How devices of --target authenticate.  [default: token]",
)
@click.option(
    "--identities",
    type=click.Choice(["opaque", "base10", "base16", "uuid", "mac"]),
    default="opaque",
    show_default=True,
    help="Format of the identities with --target.",
)
@click.option(
    "--identity-length",
    type=click.IntRange(1, 64),
    help="Length of the identities with --target, without the prefix.",
)
@click.option(
    "--arrivals",
    metavar="RATE",
    help="Random arrivals per device: 0.1/s, 30/min; 1..50/s:10min (ramp), 1..5/s:daily, 0s=1/s,60s=5/s.",
)
@click.option(
    "--accounts", is_flag=True, help="Report losses of devices that count(); always on for counter."
)
@click.option(
    "--fail-if",
    multiple=True,
    metavar="MEASURE>LIMIT",
    help='Exit status 1 if a measure crosses a limit: "p99>250ms", "failed>0.1%", "requests<1000".',
)
@click.option(
    "--csv",
    "csv_file",
    type=FILE,
    help="CSV file with a row per interval, written during the run.",
)
@click.option(
    "--parquet",
    "parquet_file",
    type=FILE,
    help="The same as Parquet; needs labkit[parquet].",
)
@json_option("Print the summary as one line of JSON.")
def fleet(csv_file: Path | None, parquet_file: Path | None, as_json: bool, **options: Any) -> None:
    """Run virtual devices and print the result; exit status 0 if no device failed and no --fail-if limit is crossed.

    In a new lab (--config) a day takes moments, and a seed gives the same day again. Against --target the devices
    provision themselves and run on the wall clock. Ctrl-C and SIGTERM end a run early, with its results so far and
    exit status 130.

    Latencies are measured from the time at which a request was due, in lab time without pauses, and from its sending,
    in real time.
    """
    from labkit.lab.interval_files import CsvFile, IntervalFile, ParquetFile
    from labkit.lab.terminal import fleet_run

    files: list[IntervalFile] = []
    if csv_file is not None:
        files.append(CsvFile(csv_file))
    if parquet_file is not None:
        files.append(ParquetFile(parquet_file))

    def watch(ticks: Sequence[Tick]) -> None:
        for each in files:
            each.update(ticks)

    outcome = fleet_run(**options, watch=watch)
    for line in outcome.problems():
        click.echo(line, err=True)
    click.echo(json.dumps(outcome.as_dict()) if as_json else outcome.text())
    for each in files:
        each.end(outcome.ticks)
    sys.exit(INTERRUPTED if outcome.interrupted else 0 if outcome.good else 1)


class BenchCommand(click.Command):
    """Command whose help lists the measures, imported only for the help."""

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        from labkit.bench.bench import TITLES

        with formatter.section("Measures"):
            formatter.write_dl(list(TITLES.items()))


@main.command(cls=BenchCommand, short_help="Measure speed, as ratios to references.")
@click.argument("names", nargs=-1)
@click.option(
    "--rounds", type=click.IntRange(min=1), default=5, show_default=True, help="Rounds after the warm-up."
)
@click.option(
    "--seconds", type=Finite(min=0.1), default=3.0, show_default=True, help="Duration of each round."
)
@click.option(
    "--polls", type=click.IntRange(min=1), default=10_000, show_default=True, help="Number of long polls."
)
@click.option(
    "--websockets",
    type=click.IntRange(min=1),
    default=2_000,
    show_default=True,
    help="Number of websockets; 10000 at full size.",
)
@click.option(
    "--minutes", type=Finite(min=0.1), default=10.0, show_default=True, help="Duration of the soak."
)
@click.option(
    "--points",
    type=click.IntRange(min=1000),
    default=100_000,
    show_default=True,
    help="Points stored for `tsdb-query`; 10,000,000 at full size.",
)
@click.option(
    "--items",
    type=click.IntRange(min=300),
    default=1_000,
    show_default=True,
    help="Items stored for `scaling`, and ten times as many; 10,000 at full size.",
)
@click.option(
    "--row",
    "rows",
    multiple=True,
    help="Part of the name of an operation of `scaling` to measure; may be repeated.",
)
@click.option("--whole-growth", is_flag=True, help="Let `growth` go up to a million writes.")
@click.option(
    "--size",
    "sizes",
    type=click.IntRange(min=1),
    multiple=True,
    help="Devices of a fleet of `repeated-runs`, once for each; without it: --size 100 --size 1000.",
)
@click.option(
    "--chart",
    "chart_file",
    type=FILE,
    help="PNG file for a chart of `growth`.",
)
@click.option(
    "--calls",
    "counts_calls",
    is_flag=True,
    help="Count function calls per request instead: independent of the machine.",
)
@json_option("Print the results as JSON.")
def bench(
    names: tuple[str, ...],
    counts_calls: bool,
    rounds: int,
    seconds: float,
    polls: int,
    websockets: int,
    minutes: float,
    points: int,
    items: int,
    rows: tuple[str, ...],
    whole_growth: bool,
    sizes: tuple[int, ...],
    chart_file: Path | None,
    as_json: bool,
) -> None:
    """Measure speed as ratios to a bare server beside the lab, or to the minimum of work for a call.

    NAMES are the measures to take; by default all except the soak, and except `fleet` without Locust. With --json,
    each has its value, its reference and their ratio. The exit status is 1 if a requirement is not met. After Ctrl-C
    the results so far are printed. With --calls, NAMES are workloads whose function calls are counted: write, read,
    write-durable, write-lua, websocket, bare-write, bare-read, bare-websocket, simulated-write, simulated-lua,
    empty-play, firmware-turn.
    """
    from labkit.bench import bench as measures
    from labkit.bench import counts, repeated
    from labkit.bench.control import BenchError
    from labkit.bench.measures import Result
    from labkit.core.progress import Progress

    names = names or (() if counts_calls else measures.EVERYDAY)
    if chart_file is not None:
        if "growth" not in names:
            raise SettingsError("--chart: only the measure growth has a chart")
        check_installed("lab", "--chart takes", "matplotlib")
    for option, given, measure in (("--size", sizes, "repeated-runs"), ("--row", rows, "scaling")):
        if given and measure not in names:
            raise SettingsError(f"{option}: only for the measure {measure}")
    results: list[Result | counts.CallCount] = []
    try:
        with Progress("labkit bench", len(names or counts.WORKLOADS), "measure") as bar:
            begun: set[str] = set()

            def progress(text: str) -> None:
                begun.add(text.partition(":")[0])
                bar.done = len(begun) - 1
                bar.update(0, text)

            measured = (
                counts.measure(names, progress)
                if counts_calls
                else measures.run(
                    names,
                    count=rounds,
                    seconds=seconds,
                    poll_count=polls,
                    websocket_count=websockets,
                    minutes=minutes,
                    points=points,
                    whole_growth=whole_growth,
                    sizes=sizes or repeated.SIZES,
                    items=items,
                    rows=rows,
                    progress=progress,
                )
            )
            for result in measured:  # so that those before an error are kept
                results.append(result)
                if not as_json:
                    bar.clear()
                    click.echo(str(result))
    finally:
        if as_json:
            click.echo(json.dumps([result.as_dict() for result in results], indent=2))
    judged = [result for result in results if isinstance(result, Result)]
    if chart_file is not None:
        from labkit.bench.chart import growth_chart

        [grown] = [each for each in judged if each.name == "growth"]
        try:
            chart_file.write_bytes(growth_chart(grown))
        except OSError as error:
            raise SettingsError(f"--chart: {chart_file}: {error.strerror}") from error
    if missed := dict.fromkeys(result.name for result in judged if not result.met):
        raise BenchError(f"not met: {', '.join(missed)}")


@main.command(short_help="Run the notebooks as a conformance report.")
@click.option(
    "--target", default="lab", help="lab, output of `serve --json`, a file with it, or control's URL."
)
@click.option("--seed", type=int, help="Makes identities and credentials repeatable.")
@only_option
@own_checks_option
@click.option(
    "-p",
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of all notebooks that declare it, or of one: 21_a_simulated_day.devices=1000.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["failed", "warned"]),
    default="failed",
    show_default=True,
    help="Outcome that sets exit status 1; warned includes deviations from choices.",
)
@click.option("--output", type=FOLDER, help="Default: reports/latest.")
@click.option(
    "--notebooks",
    type=PRESENT_FOLDER,
    help="Folder of the notebooks; default: those of labkit.",
)
@json_option("Print the counts as one line of JSON.")
def report(output: Path | None, notebooks: Path | None, as_json: bool, **options: Any) -> None:
    """Run the notebooks as a conformance report; exit status 0 if no check failed or broke and no cell raised.

    Of a lab elsewhere, checks that need its clock, journal or mailbox are skipped unless it is served with
    --control --seed 7, for a virtual clock: then all run but those that need the report's own process.

    Ctrl-C and SIGTERM end it early: the report then has the verdicts so far, and the exit status is 130.

    Model checks run 100 random commands each. The environment variable LABKIT_MODEL_STEPS sets another number for
    all, or for one: LABKIT_MODEL_STEPS=write/model=100000 with --only DEV-POLL runs one at full size.
    """
    check_installed("lab", "report runs notebooks, which takes", *JUPYTER)
    from labkit.reporting.report import make
    from labkit.settings.notebooks import notebooks_folder

    made, folder = make(notebooks or notebooks_folder(), output, **options)
    for line in made.problems():
        click.echo(line, err=True)
    click.echo(json.dumps(made.summary()) if as_json else made.line(folder))
    sys.exit(INTERRUPTED if made.interrupted else 0 if made.good else 1)


@main.command("list", short_help="List requirements with their checks and mutants, operations, coverage.")
@click.argument("topic", required=False, type=click.Choice(["requirements", "operations", "coverage"]))
@json_option("Print JSON.")
@click.option(
    "--config",
    type=PRESENT_FILE,
    help="A lab.yaml: list also the operations that its solutions publish to each other.",
)
@own_checks_option
def list_(topic: str | None, as_json: bool, config: Path | None, checks: tuple[Path, ...]) -> None:
    """List every statement of the documents with its requirements, checks and mutants, and the coverage.

    A TOPIC limits the list: the requirements; the operations of the services, with the events and globals of scripts;
    or the coverage.
    """
    from labkit.conformance import listing

    if config is not None and topic != "operations":
        raise click.UsageError("--config: only for `labkit list operations`")
    if checks and topic in ("operations", "coverage"):
        raise click.UsageError(f"--checks: not for `labkit list {topic}`")
    data: Any
    match topic:
        case "operations":
            data, text = listing.operations(config)
        case "coverage":
            data, text = listing.covered()
        case "requirements":
            data, text = listing.requirements(checks)
        case _:
            data, text = listing.statements(checks)
    click.echo(json.dumps(data, ensure_ascii=False) if as_json else text)


if __name__ == "__main__":
    main()
