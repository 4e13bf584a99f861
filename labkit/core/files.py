"""Files that are written as a whole, and paths as text."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(file: Path, text: str, *, errors: str = "strict") -> None:
    """Write a text as UTF-8 to a file at one moment, so that no other process ever reads a part of it.

    Several processes may write the same file at once; the last one wins. errors: as of `open`. Raises OSError, and
    changes nothing, if the file cannot be written.
    """
    new = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        new.write_text(text, encoding="utf-8", errors=errors)
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def shown_path(file: Path) -> str:
    """Return a path as text, relative to the current folder if it is below that."""
    return os.path.relpath(file) if file.is_absolute() and file.is_relative_to(Path.cwd()) else str(file)
