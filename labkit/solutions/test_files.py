"""Test files of a solution's folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from labkit.solutions.lua.errors import LuaError

FOLDERS = ("tests", "test", "spec")
SUFFIXES = ("_test.lua", "_spec.lua")
LONGEST = 2 * 1024 * 1024  # bytes of a test file


def test_files(folder: Path) -> list[Path]:
    """Return the files with tests: all Lua files below tests/, test/ and spec/, and *_test.lua, *_spec.lua anywhere.

    Hidden files and folders, node_modules, and what a link leads to are left out.
    """
    return sorted(_below(folder, folder))


def read_test_file(file: Path, name: str) -> str:
    """Return the text of a test file. name: for messages. Raises LuaError if it cannot be read."""
    try:
        data = file.read_bytes()
        if len(data) > LONGEST:
            raise LuaError(f"{name}: has {len(data)} bytes, more than {LONGEST}")
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise LuaError(f"{name}: cannot be read: {error}") from None


def _below(folder: Path, root: Path) -> Iterator[Path]:
    for each in folder.iterdir():
        if each.name.startswith(".") or each.name == "node_modules" or each.is_symlink():
            continue
        if each.is_dir():
            yield from _below(each, root)
        elif each.name.endswith(SUFFIXES) or (
            each.suffix == ".lua" and each.relative_to(root).parts[0] in FOLDERS
        ):
            yield each
