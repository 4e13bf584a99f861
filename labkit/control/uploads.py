"""Solution folders that come as a map of paths to texts, from a process that shares no disk with the lab."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field

from labkit.core.errors import LabError, OwnProcessError, SettingsError
from labkit.settings.notebooks import resolve

MAX_FILES = 2_000

FilePath = Annotated[str, Field(min_length=1, max_length=512)]
FileText = Annotated[str, Field(max_length=2**24)]
SolutionFiles = Annotated[Mapping[FilePath, FileText], Field(max_length=MAX_FILES)]


class Uploads:
    """Folders on the lab's disk for the solutions that were sent as texts, until the lab ends."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._count = 0

    def holds(self, paths: Sequence[Path]) -> bool:
        """Return whether these are the paths of a solution that was sent as texts."""
        return self._root is not None and [each.parent for each in paths] == [self._root]

    def store(self, files: Mapping[str, str]) -> Path:
        """Write the files of a solution to a new folder, and return it. Call it in a thread.

        Raises LabError for a path that is absolute, that leads out of the folder, or that cannot be a file's.
        """
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix="labkit-solutions-"))
            weakref.finalize(self, shutil.rmtree, self._root, ignore_errors=True)
        self._count += 1
        folder = self._root / str(self._count)
        folder.mkdir()
        for name, text in files.items():
            _write(folder, name, text)
        return folder


def _write(folder: Path, name: str, text: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
        raise LabError(
            f"files: expected paths inside of the solution folder, such as 'endpoints/a.lua', not {name!r}"
        )
    try:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="")
    except (OSError, ValueError) as error:  # too long, a NUL, or a file where another path has a folder
        raise LabError(f"files: {name!r}: {getattr(error, 'strerror', None) or error}") from None


def read_folder(paths: Sequence[Path]) -> dict[str, str]:
    """Return the files of a solution's folder as texts by path, without hidden ones. Call it in a thread.

    Raises OwnProcessError for several folders, SettingsError for a link that leads out and for a file that is no text.
    """
    if len(paths) != 1:
        raise OwnProcessError(
            f"path: {len(paths)} folders need the lab's own process: put them together in one"
        )
    root = resolve(paths[0], Path())
    if not root.is_dir():
        raise SettingsError(f"{root}: no such folder")
    found = {}
    for file in sorted(root.rglob("*")):
        name = file.relative_to(root)
        if not file.is_file() or any(part.startswith(".") for part in name.parts):
            continue
        if not file.resolve().is_relative_to(root.resolve()):
            raise SettingsError(f"{root}: {name} leads out of the solution folder")
        try:
            found[name.as_posix()] = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise SettingsError(f"{file}: no text, which a lab in another process needs") from None
    return found
