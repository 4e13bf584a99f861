"""Files of a solution's folder whose coverage is measured, and the lines of them that can run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from labkit.core.errors import LabError, SettingsError
from labkit.script_tests.coverage import FileCoverage, ScriptCoverage
from labkit.script_tests.state import BlockingState
from labkit.solutions.checking.test_files import is_passed_over, test_files
from labkit.solutions.folders import folder as folders
from labkit.solutions.folders.boundary import Boundary, below
from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.errors import LuaSyntaxError

NOT_LOADED = "the solution does not load it"


def no_coverage(paths: Iterable[Path]) -> ScriptCoverage:
    """Return the coverage of the Lua files in a solution's folders before any ran.

    They are the scripts that the solution loads, and further files that are neither tests nor assets. Raises
    SettingsError for a folder that is wrong.
    """
    state = BlockingState(_refused, write=lambda _: None, now=lambda: 0.0, seed="coverage")
    found = [each for path in paths for each in _of_folder(state, path)]
    return ScriptCoverage(sorted(found, key=lambda each: each.file))


def _of_folder(state: BlockingState, root: Path) -> Iterator[FileCoverage]:
    loaded = folders.read(root)
    scripts: dict[str, list[ScriptSource]] = {}
    for each in loaded.scripts():
        scripts.setdefault(each.file, []).append(each)
    for name in sorted({*scripts, *_others(root, loaded)}):
        text = ""
        try:
            text = Boundary(root).read_text(root / name)
            parts = scripts.get(name) or [ScriptSource(name, 1, text)]
            lines = set().union(*(state.lines(each) for each in parts))
            note = "" if name in scripts else NOT_LOADED
        except LuaSyntaxError as error:
            lines, note = set(), f"{NOT_LOADED}, and it does not compile: {error}"
        except SettingsError as error:
            lines, note = set(), f"{NOT_LOADED}: {error}"
        yield FileCoverage(root, name, dict.fromkeys(sorted(lines), 0), text, note)


def _others(root: Path, loaded: SolutionFolder) -> Iterator[str]:
    """Yield the names of Lua files that the solution does not load, without tests, assets, and hidden ones."""
    known = {*test_files(root), *(each.file for each in loaded.assets.values())}
    for each in below(root, is_passed_over):
        if each.suffix == ".lua" and each not in known and not each.is_dir():
            yield each.relative_to(root).as_posix()


def _refused(service: str, operation: str, arguments: Any) -> object:
    raise LabError(f"{service}.{operation}: no script runs here")
