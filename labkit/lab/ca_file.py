"""File with the certificate of a lab's CA, for clients that read it from a file."""

from __future__ import annotations

import tempfile
from pathlib import Path


class CaFile:
    """Temporary file with the certificate of a lab's CA: written when it is first asked for, removed with the lab."""

    def __init__(self, ca_pem: str) -> None:
        self._ca_pem = ca_pem
        self._path: Path | None = None

    @property
    def path(self) -> Path:
        """Path of the file."""
        if self._path is None:
            with tempfile.NamedTemporaryFile("w", prefix="labkit-", suffix="-ca.pem", delete=False) as file:
                file.write(self._ca_pem)
            self._path = Path(file.name)
        return self._path

    async def close(self) -> None:
        """Remove the file."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
