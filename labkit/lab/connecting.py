"""Connections to a lab: the arguments of `Lab.connect`, and the file with the certificate of a lab's CA."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from labkit.core.errors import LabError
from labkit.core.files import temporary_prefix
from labkit.core.ready_line import TOKEN_VARIABLE, URL_VARIABLE, control_access


class CaFile:
    """Temporary file with the certificate of a lab's CA: written when it is first asked for, removed with the lab."""

    def __init__(self, ca_pem: str) -> None:
        self._ca_pem = ca_pem
        self._path: Path | None = None
        self._process = 0  # that wrote it

    @property
    def path(self) -> Path:
        """Path of the file."""
        if self._path is None:
            with tempfile.NamedTemporaryFile(
                "w", prefix=temporary_prefix(), suffix="-ca.pem", delete=False
            ) as file:
                file.write(self._ca_pem)
            self._path, self._process = Path(file.name), os.getpid()
        return self._path

    async def close(self) -> None:
        """Remove the file, unless another process wrote it, of which this one is a fork."""
        if self._path is not None and self._process == os.getpid():
            self._path.unlink(missing_ok=True)


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
