"""Options that select the lab which a command controls over HTTP."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from labkit.core.commands import PATH
from labkit.core.errors import SettingsError
from labkit.core.ready_line import TOKEN_VARIABLE, URL_VARIABLE, control_access

if TYPE_CHECKING:
    from labkit.control.over_http.client import ControlClient

F = TypeVar("F", bound=Callable[..., Any])


def control_options(function: F) -> F:
    """Add the options that `control_client` takes."""
    ca_file = click.option("--ca-file", type=PATH, help="CA certificate, for an https URL in LABKIT_URL.")
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
    if target.startswith(("https://", "http://")):
        raise SettingsError(
            f"--target: expected the output of `labkit serve --json`, or a file with it, not a URL; set {URL_VARIABLE} "
            f"to it and {TOKEN_VARIABLE} to its token"
        )
    access = control_access(target, "--target")
    return ControlClient(access.url, access.token, ca_file or access.ca_file)
