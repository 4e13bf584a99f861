"""Groups and parameter types of command lines, which report each mistake as one line on stderr."""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

from labkit.core.errors import LabkitError, LabWarning, SettingsError, did_you_mean
from labkit.core.interrupts import interruptible
from labkit.core.record_lines import visible

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(s|m|min|h)?")


def duration_seconds(text: str) -> float:
    """Return the seconds of a duration such as `30s`, `5m`, `1.5h` or `90`. Raises ValueError for another text."""
    match = DURATION.fullmatch(text)
    seconds = 0.0 if match is None else float(match[1]) * UNITS[match[2] or ""]
    if not seconds:
        raise ValueError(f"{text!r} is no duration such as 30s, 5m or 1h")
    return seconds


EXTRA_FILE = re.compile(r"extra argument \((\S+\.ya?ml)\)")
INTERRUPTED = 130  # exit status of a command that was ended by Ctrl-C, as shells report it
PATH = click.Path(path_type=Path)  # types of arguments and options
FILE, FOLDER = click.Path(path_type=Path, dir_okay=False), click.Path(path_type=Path, file_okay=False)
PRESENT_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
PRESENT_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


class Commands(click.Group):
    """Group of commands that report an error as one line on stderr, without a traceback.

    The exit status is 1 for a LabkitError, 2 for a command line that does not fit, 130 for SIGINT and SIGTERM where the
    command does not handle them itself. Warnings of labkit are one line, too.
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode, **extra)
        try:
            status = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except NoArgsIsHelpError as error:
            error.show()
            sys.exit(error.exit_code)
        except click.ClickException as error:
            say(_one_line(error), err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo("labkit: interrupted", err=True)
            sys.exit(INTERRUPTED)
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, context: click.Context) -> Any:
        try:
            with interruptible(), _warnings_in_one_line():
                return super().invoke(context)
        except LabkitError as error:
            own = [str(error)] if isinstance(error, SettingsError) else str(error).split("\n")
            for line in (f"labkit: {own[0]}", *own[1:]):
                say(line, err=True)
            sys.exit(1)
        except KeyboardInterrupt:
            click.echo(f"labkit {context.invoked_subcommand}: interrupted", err=True)
            sys.exit(INTERRUPTED)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(context, name) is None and not name.startswith("-"):
            known = self.list_commands(context)
            similar = did_you_mean(name, known) or f"; there are: {', '.join(known)}"
            raise click.UsageError(f"no command {name!r}{similar}", context)
        found = super().resolve_command(context, args)
        if found[1] is not None:
            _expect_once(click.Context(found[1], context, found[0]), found[2])
        return found


def say(text: str, *, err: bool = False) -> None:
    """Print a line that may have names and texts of third parties. err: to stderr."""
    click.echo(visible(text), err=err)


class Finite(click.FloatRange):
    """A range of finite numbers. Unlike FloatRange, it rejects `nan` and `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def _expect_once(context: click.Context, args: Sequence[str]) -> None:
    """Raise UsageError for an option of which the last of two values would count, and for two values of one name."""
    try:
        values, _, given = context.command.make_parser(context).parse_args([*args])
    except click.UsageError:
        return  # the command reports it
    for each in context.command.params:
        if isinstance(each, click.Option) and not (each.multiple or each.is_flag) and given.count(each) > 1:
            raise click.UsageError(f"{each.opts[-1]}: expected once, not {given.count(each)} times", context)
        pairs = values.get(each.name or "")
        if "=" in (each.metavar or "") and isinstance(pairs, list | tuple):  # of NAME=VALUE
            names = [text.partition("=")[0] for text in pairs]
            if twice := [name for name in names if names.count(name) > 1]:
                named = f"{each.opts[-1]}: " if isinstance(each, click.Option) else ""
                raise click.UsageError(f"{named}expected one value of {twice[0]!r}", context)


def _one_line(error: click.ClickException) -> str:
    """Return an error of click as one line, with the command whose help describes the options."""
    text = (
        " ".join(error.format_message().split()).rstrip(".").replace("'. (Did", "' (did").replace("'?)", "')")
    )
    text = re.sub(r"not a valid (float|integer) range", r"not a valid \1", text).replace(
        "valid float", "valid number"
    )
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return f"labkit: {text}"
    file = EXTRA_FILE.search(text)
    if file is not None and any("--config" in each.opts for each in context.command.params):
        text += f"; did you mean --config {file[1]}"
    return f"labkit: {text[:1].lower()}{text[1:]}; see {context.command_path} --help"


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print labkit's warnings without the place in a file, which is one of labkit here."""

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, LabWarning):
            say(f"labkit: warning: {message}", err=True)
        else:
            others(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", LabWarning)
        others, warnings.showwarning = warnings.showwarning, show
        yield
