"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from labkit.core.commands import PATH

F = TypeVar("F", bound=Callable[..., object])


def own_checks_option(command: F) -> F:
    """Add the option --checks, which may be repeated, to a command that lists or runs checks."""
    return click.option(
        "--checks",
        multiple=True,
        type=PATH,
        metavar="FOLDER",
        help="Folder with requirements.toml and checks.py of your own, beside those of labkit; may be repeated.",
    )(command)


def json_option(help: str) -> Callable[[F], F]:
    """Return a decorator that adds the option --json (`as_json`) to a command. help: what is printed as JSON."""
    return click.option("--json", "as_json", is_flag=True, help=help)


def only_option(command: F) -> F:
    """Add the option --only, which may be repeated, to a command that runs checks; `only` has a space between two."""
    return click.option(
        "--only",
        multiple=True,
        metavar="PREFIX",
        callback=lambda context, option, prefixes: " ".join(prefixes),
        help="Requirements with this prefix: DEV-ALIAS; may be repeated.",
    )(command)


def overlay_options(command: F) -> F:
    """Add the options --set (`assignments`) and --fault (`faults`) to a command that reads a lab.yaml."""
    fault = click.option(
        "--fault",
        "faults",
        multiple=True,
        metavar="FAULT",
        help="Add a fault: 'POST /provision/activate status=503 first=2'.",
    )
    setting = click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="KEY=VALUE",
        help="Replace a value of lab.yaml: products.0.auth=token, or by id products.thermostat.auth=token.",
    )
    return setting(fault(command))
