"""How often the lines of a solution's files ran, from the counts of its Lua states."""

from __future__ import annotations

from collections.abc import Iterable

from labkit.core.line_counts import LineCounts, summed
from labkit.solutions.folder import SolutionFolder
from labkit.solutions.lua.program import Module
from labkit.solutions.lua.runtime import LuaState


def line_counts(states: Iterable[LuaState], folder: SolutionFolder) -> LineCounts:
    """Return the sum of the states' counts, by the file's path below the solution's folder, and line.

    Scripts of cells, which have no file there, keep the name that they have in messages.
    """
    files = {Module(name, "").file: script.file for name, script in folder.modules.items()}
    return summed({files.get(file, file): lines for file, lines in each.covered().items()} for each in states)
