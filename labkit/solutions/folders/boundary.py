"""Sandbox of a solution folder: only files that resolve inside the folder are read.

The folder itself may be a symbolic link. Solutions of third parties are not trusted, so a name with `..`, an absolute
name or a link must not give access to the rest of the disk.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any

from labkit.core.errors import SettingsError
from labkit.core.lined_yaml import LARGEST, parse_yaml

LARGEST_ASSET = 256 * 1024 * 1024  # bytes
DEEPEST = 200  # nested folders: Path.glob needs a call of Python for each


class Boundary:
    """Solution folder that refuses paths which resolve outside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._real = _resolved(folder, str(folder))

    def __eq__(self, other: object) -> bool:
        """Return whether the other has the same folder, which resolves to the same place."""
        return isinstance(other, Boundary) and (self.folder, self._real) == (other.folder, other._real)

    def __hash__(self) -> int:
        return hash((self.folder, self._real))

    def name(self, path: Path) -> str:
        """Return a path's name for errors, relative to the folder."""
        return (
            path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else path.as_posix()
        )

    def check(self, path: Path) -> Path:
        """Return `path` if it resolves inside the folder. Raises SettingsError with its name if not."""
        self._inside(path)
        return path

    def resolve(self, key: str, name: str) -> Path:
        """Return the path of a file or folder that a project file names.

        key: the entry of the project file, for errors. Raises SettingsError for an absolute name, and for a name that
        resolves outside the folder.
        """
        if PurePath(name).is_absolute():
            raise SettingsError(
                f"{key}: {name!r} is absolute, expected a name relative to the solution folder"
            )
        try:
            return self.check(self.folder / name)
        except SettingsError as error:
            raise SettingsError(f"{key}: {error}") from None

    def read(self, path: Path, most: int = LARGEST) -> bytes:
        """Read a file of at most `most` bytes.

        Raises SettingsError for a larger one, for one that resolves outside the folder by now and for what is no
        regular file, such as a pipe; and OSError.
        """
        real = self._inside(path)
        flags = (
            os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        )  # O_NONBLOCK: opening a pipe does not wait for a writer
        with os.fdopen(os.open(real, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SettingsError(f"{self.name(path)}: is not a file")
            data = file.read(most + 1)
        if len(data) > most:
            raise SettingsError(f"{self.name(path)}: is too large, expected at most {most} bytes")
        return data

    def read_text(self, path: Path, most: int = LARGEST) -> str:
        """Read a file as `read` does, as UTF-8 with line ends of Unix. Raises SettingsError alone."""
        try:
            return self.read(path, most).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{self.name(path)}: cannot be read: {_reason(error)}") from None

    def read_yaml(self, path: Path) -> tuple[Any, dict[str, int]]:
        """Return the data of a YAML file ({} if empty), and the line of each key. Raises SettingsError naming it."""
        name = self.name(path)
        try:
            return parse_yaml(self.read(path), name)
        except OSError as error:
            raise SettingsError(f"{name}: cannot be read: {_reason(error)}") from None
        except SettingsError as error:
            parts = [each if each.startswith(f"{name}: ") else f"{name}: {each}" for each in error.parts]
        raise SettingsError("; ".join(parts), parts)

    def _inside(self, path: Path) -> Path:
        """Return the resolved path. Raises SettingsError if it is outside the folder."""
        real = _resolved(path, self.name(path))
        if not real.is_relative_to(self._real):
            raise SettingsError(f"{self.name(path)}: leads outside of the solution folder, to {real}")
        return real


def _resolved(path: Path, name: str) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # such as a link to itself, or a NUL in the name
        raise SettingsError(f"{name}: cannot be read: {_reason(error)}") from None


def _reason(error: Exception) -> object:
    return getattr(error, "strerror", None) or error


def check_depth(folder: Path) -> None:
    """Raise SettingsError if Path.glob could not look into all folders below one, since they are nested too deep."""
    for _ in below(folder):
        pass


def below(folder: Path, leaves_out: Callable[[Path], bool] = Path.is_symlink) -> Iterator[Path]:
    """Yield the files and folders below a folder at any depth, without links and what they lead to.

    leaves_out: of which paths nothing is yielded. Raises SettingsError for folders that are nested too deep.
    """
    waiting = [(folder, 0)]
    while waiting:
        inner, depth = waiting.pop()
        if depth > DEEPEST:
            raise SettingsError(f"{folder}: has folders that are nested more than {DEEPEST} deep")
        try:
            entries = list(inner.iterdir())
        except PermissionError:  # as Path.glob
            continue
        for each in entries:
            if not leaves_out(each):
                yield each
                if each.is_dir():
                    waiting.append((each, depth + 1))
