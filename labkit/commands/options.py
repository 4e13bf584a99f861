"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])


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
