"""File with the certificate of a lab's CA, for clients that read it from a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


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
            with tempfile.NamedTemporaryFile("w", prefix="labkit-", suffix="-ca.pem", delete=False) as file:
                file.write(self._ca_pem)
            self._path, self._process = Path(file.name), os.getpid()
        return self._path

    async def close(self) -> None:
        """Remove the file, unless another process wrote it, of which this one is a fork."""
        if self._path is not None and self._process == os.getpid():
            self._path.unlink(missing_ok=True)
