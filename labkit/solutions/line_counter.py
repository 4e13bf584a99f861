"""Counts of executed lines of solutions' files, from their Lua states."""

from __future__ import annotations

from labkit.core.line_counts import LineCounts, summed
from labkit.solutions.lua.program import Module
from labkit.solutions.lua.runtime import LuaState
from labkit.solutions.solution import PlatformSolution


class LineCounter:
    """Counter of the lines that run in solutions' scripts, from `begin` on. It costs nothing before."""

    def __init__(self) -> None:
        self._states: dict[str, list[LuaState]] = {}  # those that count lines, by the id of their solution

    def begin(self, solution: PlatformSolution) -> None:
        """Count the lines of a solution's scripts from now on."""
        solution.cover(self._states.setdefault(solution.id, []))

    def replace(self, solution: PlatformSolution) -> None:
        """Count the lines of a new solution, too, if it replaces one whose lines are counted."""
        if solution.id in self._states:
            self.begin(solution)

    def counts(self, solution: PlatformSolution) -> LineCounts:
        """Return how often each line ran, by the file's path below the solution's folder. No run may be active.

        Scripts of cells, which have no file there, keep the name that they have in messages.
        """
        files = {Module(name, "").file: script.file for name, script in solution.folder.modules.items()}
        found = (each.covered() for each in self._states.get(solution.id, ()))
        return summed({files.get(file, file): lines for file, lines in each.items()} for each in found)
