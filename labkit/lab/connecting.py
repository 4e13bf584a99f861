"""Arguments of `Lab.connect`, with their defaults from the environment."""

from __future__ import annotations

import os
from pathlib import Path

from labkit.core.errors import LabError
from labkit.core.ready_line import TOKEN_VARIABLE, URL_VARIABLE, control_access


def connection(
    url: str | Path | None, token: str | None, ca_file: str | Path | None
) -> tuple[str, str, Path | None]:
    """Return URL, token and CA file of a lab's control.

    url: also a ready line, or the path of a file with it. Raises LabError for one that is missing, SettingsError for a
    ready line that cannot be read.
    """
    url = str(url) if url else os.environ.get(URL_VARIABLE)
    if url and _is_ready(url):
        access = control_access(url, "url")
        url, token, ca_file = access.url, token or access.token, ca_file or access.ca_file
    token = token or os.environ.get(TOKEN_VARIABLE)
    if not url:
        raise LabError(f"url: expected that of `labkit serve --control`, here or in {URL_VARIABLE}")
    if not token:
        raise LabError(
            f"token: expected the one that `labkit serve --control` shows, here or in {TOKEN_VARIABLE}"
        )
    return url, token, None if ca_file is None else Path(ca_file)


def _is_ready(url: str) -> bool:
    """Return whether a text is a ready line, or the path of a file rather than a URL."""
    return url.lstrip().startswith("{") or (
        "://" not in url and (url.endswith(".json") or Path(url).is_file())
    )
