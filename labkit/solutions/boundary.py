"""The boundary of a solution folder: files are read only where they resolve inside of it.

The folder itself may be a symbolic link. Solutions of third parties are loaded as they come, so a name with `..`,
an absolute name or a link must not reach the rest of the disk.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePath

from labkit.core.errors import SettingsError


class Boundary:
    """A solution folder, with checks that paths resolve inside of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._real = _resolved(folder, str(folder))

    def name(self, path: Path) -> str:
        """Return a path's name as errors give it: relative to the folder."""
        return (
            path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else path.as_posix()
        )

    def check(self, path: Path) -> Path:
        """Return `path` if it resolves inside the folder. Raises SettingsError with its name if not."""
        self._inside(path)
        return path

    def place(self, key: str, name: str) -> Path:
        """Return the path of a file or folder that a project file names.

        key: of the entry with the name, for errors. Raises SettingsError for an absolute name, and for one that
        resolves outside.
        """
        if PurePath(name).is_absolute():
            raise SettingsError(
                f"{key}: {name!r} is absolute, expected a name relative to the solution folder"
            )
        try:
            return self.check(self.folder / name)
        except SettingsError as error:
            raise SettingsError(f"{key}: {error}") from None

    def read(self, path: Path) -> bytes:
        """Read a file that resolves inside the folder at this moment. Raises SettingsError, OSError."""
        real = self._inside(path)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # without it, a pipe would wait for a writer
        with os.fdopen(os.open(real, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SettingsError(f"{self.name(path)}: is not a file")
            return file.read()

    def _inside(self, path: Path) -> Path:
        real = _resolved(path, self.name(path))
        if not real.is_relative_to(self._real):
            raise SettingsError(f"{self.name(path)}: leads outside of the solution folder, to {real}")
        return real


def _resolved(path: Path, name: str) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a link to itself, a NUL
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"{name}: cannot be read: {reason}") from None
