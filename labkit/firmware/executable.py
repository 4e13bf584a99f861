"""Reader of a program's file, before it is started: whether a library can be preloaded."""

from __future__ import annotations

import os
import shutil
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from labkit.core.errors import LabError, did_you_mean

MAGIC = b"\x7fELF"
INTERPRETER = 3  # of the program headers: names the loader, which preloads; a static program has none
DEEPEST = 4  # scripts that name a script as their interpreter
MOST_HEADERS = 128
NOTES = 4  # of the program headers
LONGEST_NOTES = 4096
GO = struct.pack("<I4s", 4, b"Go")  # type and owner of a note with the id of a build
SEGMENT = struct.Struct("<I4xQ16xQ8x")  # type, place and size in the file, then where it goes in memory


def find_program(command: str, folder: Path, variables: Mapping[str, str]) -> Path:
    """Return the file of a program. folder: in which it starts; variables: with its PATH. Raises LabError."""
    if "/" in command:
        path = folder / command
        if not path.exists():
            names = [f"{command.rpartition('/')[0]}/{each.name}" for each in _siblings(path)]
            raise LabError(f"firmware: there is no file {str(path)!r}{did_you_mean(command, names)}")
        if path.is_dir() or not os.access(path, os.X_OK):
            raise LabError(
                f"firmware: {str(path)!r} is no program: expected a file that may be executed (chmod +x)"
            )
        return path
    found = shutil.which(command, path=variables.get("PATH"))
    if found is None:
        here = (
            f"; for the file in the folder of the run: './{command}'" if (folder / command).is_file() else ""
        )
        raise LabError(f"firmware: there is no program {command!r} on the PATH{here}")
    return Path(found)


def whole_path(word: str, *, is_program: bool) -> str:
    """Return a word of a command; if it is a file of the current folder, with its whole path.

    is_program: whether it is the first word, which may name a program of the PATH.
    """
    path = Path(word)
    if is_program:
        is_file = "/" in word or (path.is_file() and shutil.which(word) is None)
    else:
        # os.path, since pathlib raises an error for what is too long for a file name, such as a script
        is_file = ("/" in word or bool(path.suffix)) and os.path.exists(word)  # noqa: PTH110
    return str(path.absolute()) if is_file else word


def _siblings(path: Path) -> list[Path]:
    return list(path.parent.iterdir()) if path.parent.is_dir() else []


def expect_preloadable(path: Path, variables: Mapping[str, str], depth: int = 0) -> None:
    """Raise LabError for a program that cannot have a preloaded library; of a script its interpreter is meant."""
    try:
        with path.open("rb") as file:
            head = file.read(64 + 56 * MOST_HEADERS)
    except OSError as error:
        raise LabError(f"firmware: cannot read {str(path)!r}: {error.strerror}") from None
    if head.startswith(b"#!") and depth < DEEPEST:
        _expect_interpreter(path, head, variables, depth)
    elif head.startswith(MAGIC):
        _expect_dynamic(path, head)
    elif head.startswith(b"#!") or not head.startswith(b"#"):
        raise LabError(
            f"firmware: {str(path)!r} is no program of Linux: expected one in ELF, or a script that begins with #!"
        )


def _expect_interpreter(path: Path, head: bytes, variables: Mapping[str, str], depth: int) -> None:
    words = head.split(b"\n", 1)[0][2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        named = [each for each in words[1:] if not each.startswith("-") and "=" not in each]
        found = shutil.which(named[0], path=variables.get("PATH")) if named else None
        words = [found] if found else named
    if not words or not Path(words[0]).is_file():
        raise LabError(
            f"firmware: the interpreter of the script {str(path)!r} is missing: {' '.join(words) or '#!'}"
        )
    expect_preloadable(Path(words[0]), variables, depth + 1)


def _expect_dynamic(path: Path, head: bytes) -> None:
    mode = path.stat()
    other_user = mode.st_mode & stat.S_ISUID and mode.st_uid != os.getuid()
    other_group = mode.st_mode & stat.S_ISGID and mode.st_gid != os.getgid()
    if other_user or other_group:
        raise LabError(
            f"firmware: {str(path)!r} runs as another user (setuid or setgid), and then Linux preloads no library: "
            "start a copy without that bit (chmod ug-s)"
        )
    if head[4] != 2:
        raise LabError(
            f"firmware: {str(path)!r} is a program of {32 * head[4]} bits: build it for a machine of 64 bits"
        )
    segments = list(_segments(head))
    if any(kind == NOTES and _is_of_go(path, at, size) for kind, at, size in segments):
        raise LabError(
            f"firmware: {str(path)!r} is a program in Go, which waits and reads the time without the C library, so it "
            "cannot be on lab time: start it yourself beside `labkit serve`, in real time"
        )
    if not any(kind == INTERPRETER for kind, _, _ in segments):
        raise LabError(
            f"firmware: {str(path)!r} is linked statically, so it cannot be on lab time: link it without -static"
        )


def _segments(head: bytes) -> Iterator[tuple[int, int, int]]:
    """Iterate over types, places and sizes of the segments of a program of 64 bits."""
    (first,) = struct.unpack_from("<Q", head, 32)
    step, count = struct.unpack_from("<HH", head, 54)
    for place in range(first, min(first + step * count, len(head) - SEGMENT.size + 1), step or 1):
        kind, at, size = SEGMENT.unpack_from(head, place)
        yield kind, at, size


def _is_of_go(path: Path, at: int, size: int) -> bool:
    """Return whether notes in a program's file were written by the linker of Go."""
    with path.open("rb") as file:
        file.seek(at)
        return GO in file.read(min(size, LONGEST_NOTES))
