"""Test files of a solution's folder."""

from __future__ import annotations

from pathlib import Path

from labkit.core.errors import SettingsError
from labkit.solutions.folders.boundary import Boundary, below
from labkit.solutions.lua.errors import LuaError

SAY = """
local texts = {}
local say = {}
function say:set_namespace() end
function say:set_fallback() end
function say:set(key, text) texts[key] = text end
return setmetatable(say, {
  __call = function(_, key, values)
    local text = texts[key]
    return text and (text:gsub("%%s", function() return table.remove(values, 1) or "nil" end))
  end,
})
"""
STANDARD_MODULES = {
    "busted": "return setmetatable({ fail = function(text) error(text, 2) end }, { __index = _G })",
    "busted.runner": "return function() end",
    "luassert": "return assert",
    "luassert.assert": "return assert",
    **{f"luassert.{word}": f"return {word}" for word in ("spy", "stub", "mock", "match")},
    "say": SAY,
}


FOLDERS = ("tests", "test", "spec")
SUFFIXES = ("_test.lua", "_spec.lua")
LONGEST = 2 * 1024 * 1024  # bytes of a test file


def test_files(folder: Path) -> list[Path]:
    """Return the files with tests: all Lua files below tests/, test/ and spec/, and *_test.lua, *_spec.lua anywhere.

    Hidden files and folders, node_modules, and what a link leads to are left out. Raises SettingsError for folders that
    are nested too deep.
    """
    return sorted(
        each
        for each in below(folder, is_passed_over)
        if not each.is_dir()
        and (
            each.name.endswith(SUFFIXES)
            or (each.suffix == ".lua" and each.relative_to(folder).parts[0] in FOLDERS)
        )
    )


def read_test_file(folder: Path, name: str) -> str:
    """Return the text of a test file in a solution's folder. Raises LuaError if it cannot be read."""
    try:
        return Boundary(folder).read_text(folder / name, LONGEST)
    except SettingsError as error:
        raise LuaError(str(error)) from None


def is_passed_over(path: Path) -> bool:
    """Return whether a path is hidden, a link, or node_modules, below which are no files of a solution."""
    return path.name.startswith(".") or path.name == "node_modules" or path.is_symlink()
