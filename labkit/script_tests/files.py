"""Test files of a solution's folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("tests", "test", "spec")
SUFFIXES = ("_test.lua", "_spec.lua")


def test_files(folder: Path) -> list[Path]:
    """Return the files with tests: all Lua files below tests/, test/ and spec/, and *_test.lua, *_spec.lua anywhere.

    Hidden files and folders, node_modules, and what a link leads to are left out.
    """
    return sorted(_below(folder, folder))


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
