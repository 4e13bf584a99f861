"""Options that select the lab which a command controls over HTTP."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from labkit.core.errors import SettingsError
from labkit.core.ready_line import TOKEN_VARIABLE, URL_VARIABLE, ready_values

if TYPE_CHECKING:
    from labkit.control.over_http.client import ControlClient

F = TypeVar("F", bound=Callable[..., Any])


def control_options(function: F) -> F:
    """Add the options that `control_client` takes."""
    ca_file = click.option(
        "--ca-file", type=click.Path(path_type=Path), help="CA certificate, for an https URL in LABKIT_URL."
    )
    target = click.option(
        "--target",
        help="A lab with --control: the output of `serve --json`, or a file with it; without it, the URL in "
        "LABKIT_URL with the token in LABKIT_TOKEN.",
    )
    return target(ca_file(function))


def control_client(target: str | None, ca_file: Path | None) -> ControlClient:
    """Return a client of the selected lab. Raises SettingsError if none is selected, or it has no control."""
    from labkit.control.over_http.client import ControlClient

    if target is None:
        url, token = os.environ.get(URL_VARIABLE), os.environ.get(TOKEN_VARIABLE)
        if not url or not token:
            raise SettingsError(f"missing lab: use --target, or set {URL_VARIABLE} and {TOKEN_VARIABLE}")
        return ControlClient(url, token, ca_file)
    ready = ready_values(target)
    try:
        control = ready.get("control")
        if control is None:
            raise SettingsError("--target: this lab has no control; serve it with --control")
        if ca_file is None and control["url"].startswith("https:"):
            ca_file = Path(ready["ca_file"])
        return ControlClient(control["url"], control["token"], ca_file)
    except KeyError as error:
        raise SettingsError(f"--target: {error.args[0]}: is required") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise SettingsError(f"--target: cannot be read: {error}") from None
