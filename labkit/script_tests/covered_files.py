"""Files of a solution's folder whose coverage is measured, and the lines of them that can run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from labkit.core.errors import LabError
from labkit.script_tests.coverage import FileCoverage, ScriptCoverage
from labkit.script_tests.state import BlockingState
from labkit.solutions import folder as folders
from labkit.solutions.folder import SolutionFolder
from labkit.solutions.lua.errors import LuaSyntaxError
from labkit.solutions.scripts import ScriptSource
from labkit.solutions.test_files import test_files

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
        text = _text(root / name)
        try:
            parts = scripts.get(name) or [ScriptSource(name, 1, text)]
            lines = set().union(*(state.lines(each) for each in parts))
            note = "" if name in scripts else NOT_LOADED
        except LuaSyntaxError as error:
            lines, note = set(), f"{NOT_LOADED}, and it does not compile: {error}"
        yield FileCoverage(root, name, dict.fromkeys(sorted(lines), 0), text, note)


def _others(root: Path, loaded: SolutionFolder) -> Iterator[str]:
    """Yield the names of Lua files that the solution does not load, without tests, assets, and hidden ones."""
    known = {*test_files(root), *(each.file for each in loaded.assets.values())}
    pending = [root]
    while pending:
        for each in pending.pop().iterdir():
            if each.name.startswith(".") or each.name == "node_modules" or each.is_symlink():
                continue
            if each.is_dir():
                pending.append(each)
            elif each.suffix == ".lua" and each not in known:
                yield each.relative_to(root).as_posix()


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError:
        return ""
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _refused(service: str, operation: str, arguments: Any) -> object:
    raise LabError(f"{service}.{operation}: no script runs here")
