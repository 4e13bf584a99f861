"""The command `labkit serve`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from labkit.commands.check import NAME
from labkit.commands.options import json_option, overlay_options
from labkit.core.commands import FILE, PATH, PRESENT_FOLDER, Finite, say
from labkit.core.errors import SettingsError
from labkit.core.extras import check_installed

if TYPE_CHECKING:
    from labkit.log import Amount
    from labkit.platform import Platform
    from labkit.settings import LabSettings


@click.command(short_help="Run a standing platform for real devices and other languages.")
@click.argument("folder", type=PATH, required=False)
@click.option("--config", type=PATH, help="The lab.yaml to serve; without it, an empty lab.")
@click.option(
    "--conformance", is_flag=True, help="Serve the products and solutions that the conformance checks need."
)
@overlay_options
@json_option("When ready, print one line of JSON.")
@click.option(
    "--seed", type=int, help="Makes identifiers and the journal repeatable; the clock is then virtual."
)
@click.option("--start", metavar="TIME", help="Lab time at the start: 2026-03-01, or Unix seconds.")
@click.option(
    "--speed",
    type=Finite(min=0),
    help="Lab seconds per second; 0 is a virtual clock, which --control advances.  [default: 1, with --seed 0]",
)
@click.option(
    "--control",
    type=click.IntRange(0, 65535),
    is_flag=False,
    flag_value=0,
    metavar="[PORT]",
    help="Offer control over HTTP, and a page for browsers, on 127.0.0.1, at any free port without PORT; the token and "
    "the page's link are shown when ready.",
)
@click.option(
    "--labs",
    type=click.IntRange(1, 10_000),
    is_flag=False,
    flag_value=100,
    metavar="[N]",
    help="Start further labs for clients of the control, at most N at a time (100 without N); implies --control.",
)
@click.option(
    "--files",
    type=PRESENT_FOLDER,
    help="Folder below which paths in control requests may be; without it they have none.",
)
@click.option(
    "--reload",
    is_flag=True,
    help="Take over edits of the lab.yaml and of its solution folders while it runs.",
)
@click.option("--ca-file", type=FILE, help="File for the CA's certificate.")
@click.option(
    "--until-eof",
    is_flag=True,
    help="End also when standard input ends: with the program that started it, even if that is killed.",
)
@click.option(
    "--log",
    type=click.Choice(["problems", "requests", "all", "none"]),
    default="problems",
    show_default=True,
    help="Lines on stderr: refusals, failed scripts, warnings, mails, pushes; each request, too; all records; none.",
)
def serve(
    folder: Path | None,
    config: Path | None,
    conformance: bool,
    assignments: tuple[str, ...],
    faults: tuple[str, ...],
    as_json: bool,
    seed: int | None,
    start: str | None,
    speed: float | None,
    control: int | None,
    labs: int | None,
    files: Path | None,
    reload: bool,
    ca_file: Path | None,
    until_eof: bool,
    log: Amount,
) -> None:
    """Run a standing platform for real devices and other languages, until SIGTERM or Ctrl-C.

    FOLDER is that of a solution, which is served with a product; the letters and digits of its name are the id of both.
    """
    from labkit.control.clock import seconds_of
    from labkit.core.process import loop_factory, serve_for_long
    from labkit.labtime.clock import Clock
    from labkit.log import Log
    from labkit.platform import Platform
    from labkit.serve import call_place, serve_until_signal
    from labkit.settings import ControlSettings, load, load_folder

    if conformance:
        from labkit.conformance.target import LAB_YAML

        if config is not None:
            raise click.UsageError("--conformance: cannot go with --config")
        config = LAB_YAML
    if folder is not None:
        if config is not None:
            raise click.UsageError("a folder: cannot go with --config or --conformance")
        expect_solution(folder)
    if reload and config is None and folder is None:
        raise click.UsageError("--reload: needs FOLDER or --config, whose edits it takes over")
    if reload:
        check_installed("reload", "--reload takes", "watchfiles")

    def read() -> LabSettings:
        if folder is not None:
            settings = load_folder(folder, assignments, faults)
        else:
            settings = load(config, assignments=assignments, faults=faults)
        if control is not None or (labs is not None and settings.control is None):
            settings = settings.model_copy(update={"control": ControlSettings(port=control or 0)})
        return settings

    settings = read()
    rate = speed if speed is not None else 1.0 if seed is None else 0.0
    begin = None if start is None else seconds_of(_number_or_text(start), "--start")
    serve_for_long()
    platform = Platform(settings, seed=seed, clock=Clock(rate, begin))
    place = partial(call_place, platform)
    logger = Log(sys.stderr, log).follow(platform.context.journal, platform.mailbox, place)
    with logger, asyncio.Runner(loop_factory=loop_factory()) as runner:
        file = config if folder is None else folder / NAME
        beside = _reloading(platform, file, read, reload)
        serving = serve_until_signal(
            platform, as_json, ca_file, files, beside, until_eof=until_eof, most_labs=labs or 0
        )
        runner.run(serving)


def expect_solution(folder: Path) -> None:
    """Raise SettingsError for a path that is not the folder of a solution."""
    from labkit.solutions.folders import folder as folders

    if folder.is_file() or (folder.suffix in (".yaml", ".yml") and not folder.exists()):
        raise click.UsageError(
            f"{folder} is no folder: expected the folder of a solution; did you mean --config {folder}?"
        )
    found = folders.read_partly(folder)
    if not (found.errors or found.scripts() or found.configured or found.assets):
        meant = f"; did you mean --config {folder / NAME}?" if (folder / NAME).is_file() else ""
        raise SettingsError(f"{folder}: has no file of a solution (endpoints/, services/, modules/ …){meant}")


def _reloading(
    platform: Platform, config: Path | None, read: Callable[[], LabSettings], reload: bool
) -> AbstractAsyncContextManager[None]:
    """Return the context in which edits are taken over; one without an effect if they are not to be."""
    if not reload or config is None:
        return nullcontext()
    from labkit.reload import reloading

    return reloading(platform, config, read, partial(say, err=True))


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
