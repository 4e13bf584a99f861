"""Descriptions of a lab in another process: the line that `labkit serve --json` prints, and environment variables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from labkit.core.errors import SettingsError

URL_VARIABLE = "LABKIT_URL"  # URL of its control
TOKEN_VARIABLE = "LABKIT_TOKEN"


def ready_text(ready: str) -> str:
    """Return a ready line that is given itself, or by the path of a file with it. Raises OSError."""
    return ready if ready.lstrip().startswith("{") else Path(ready).read_text()


def ready_values(ready: str, option: str = "--target") -> dict[str, Any]:
    """Return the values in a ready line, or in a file with it. Raises SettingsError, which begins with `option`."""
    try:
        text = ready_text(ready)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{option}: {ready}: {getattr(error, 'strerror', None) or error}") from None
    if not text.strip():
        raise SettingsError(f"{option}: {ready}: is empty, so the server is not ready yet")
    try:
        values = json.loads(text)
    except ValueError as error:
        raise SettingsError(f"{option}: cannot be read: {error}") from None
    if not isinstance(values, dict):
        raise SettingsError(
            f"{option}: expected the line that `labkit serve --json` prints, not {text.strip():.60}"
        )
    return values


class ControlAccess(NamedTuple):
    """Access to the control of a lab. ca_file: certificate of its CA, for an https URL."""

    url: str
    token: str
    ca_file: Path | None


def control_access(ready: str, name: str) -> ControlAccess:
    """Return the access to control in a ready line, given itself or by the path of a file with it.

    name: of the argument in errors. Raises SettingsError if it cannot be read, or if the lab has no control.
    """
    line = ready_values(ready, name)
    try:
        control = line.get("control")
        if control is None:
            raise SettingsError(f"{name}: this lab has no control; serve it with --control")
        ca_file = Path(line["ca_file"]) if control["url"].startswith("https:") else None
        return ControlAccess(control["url"], control["token"], ca_file)
    except KeyError as error:
        raise SettingsError(f"{name}: {error.args[0]}: is required") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise SettingsError(f"{name}: cannot be read: {error}") from None


def host_of(url: str) -> str:
    """Return the host name in an https URL of a ready line, without its port."""
    return url.removeprefix("https://").partition(":")[0]
