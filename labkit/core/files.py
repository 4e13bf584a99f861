"""Files that are written as a whole, names of temporary files, and paths as text."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from itertools import chain
from pathlib import Path
from zlib import crc32

SHORT_TEMPORARY = "/tmp"  # where the path of the system's folder is too long for a socket


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


def temporary_prefix() -> str:
    """Return the beginning of the names of this process's temporary files and folders; remove those of dead processes.

    A process that was killed leaves them behind. On Linux the names say whose they are: the number of a process, which
    counts only within one boot and container. Elsewhere nothing is removed.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        container = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return "labkit-"
    machine = f"labkit-{crc32(f'{boot}{container}'.encode()):08x}-"
    folders = {tempfile.gettempdir(), SHORT_TEMPORARY}
    for path in chain.from_iterable(Path(each).glob(f"{machine}*") for each in folders):
        if not Path("/proc", path.name.removeprefix(machine).partition("-")[0]).exists():
            with suppress(OSError):  # another user's, or another process removes it at this moment
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    return f"{machine}{os.getpid()}-"


def shown_path(file: Path) -> str:
    """Return a path as text, relative to the current folder if it is below that."""
    return os.path.relpath(file) if file.is_absolute() and file.is_relative_to(Path.cwd()) else str(file)
