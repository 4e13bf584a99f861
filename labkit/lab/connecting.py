"""Arguments of `Lab.connect`, with their defaults from the environment."""

from __future__ import annotations

import os
from pathlib import Path

from labkit.core.errors import LabError
from labkit.core.ready_line import TOKEN_VARIABLE, URL_VARIABLE


def control_access(
    url: str | None, token: str | None, ca_file: str | Path | None
) -> tuple[str, str, Path | None]:
    """Return URL, token and CA file of a lab's control. Raises LabError for one that is missing."""
    url = url or os.environ.get(URL_VARIABLE)
    token = token or os.environ.get(TOKEN_VARIABLE)
    if not url:
        raise LabError(f"url: expected that of `labkit serve --control`, here or in {URL_VARIABLE}")
    if not token:
        raise LabError(
            f"token: expected the one that `labkit serve --control` shows, here or in {TOKEN_VARIABLE}"
        )
    return url, token, None if ca_file is None else Path(ca_file)
