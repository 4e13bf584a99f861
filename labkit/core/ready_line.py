"""Descriptions of a lab in another process: the line that `labkit serve --json` prints, and environment variables."""

from __future__ import annotations

from pathlib import Path

URL_VARIABLE = "LABKIT_URL"  # URL of its control
TOKEN_VARIABLE = "LABKIT_TOKEN"


def ready_text(ready: str) -> str:
    """Return a ready line that is given itself, or by the path of a file with it. Raises OSError."""
    return ready if ready.lstrip().startswith("{") else Path(ready).read_text()


def host_of(url: str) -> str:
    """Return the host name in an https URL of a ready line, without its port."""
    return url.removeprefix("https://").partition(":")[0]
