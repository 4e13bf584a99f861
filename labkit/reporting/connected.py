"""Notebooks whose labs run in another process: with LABKIT_LAB=connect, `Lab(…)` starts a server and connects to it.

Cells that need the lab's own process are skipped with that reason, and so are cells that use what those define. A cell
that needs what a skipped cell did to the lab has the tag `own-process`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_output

from labkit.core.errors import SettingsError
from labkit.reporting.cell_names import CellNames

VARIABLE = "LABKIT_LAB"
CONNECT = "connect"
TAG = "own-process"
SKIPPED = "labkit-skipped"  # tag of a cell that was skipped
STARTUP = """import labkit.lab.served_lab
labkit.Lab = labkit.lab.served_lab.ServedLab
del labkit
"""


def connects(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether labs of notebooks run in another process. Raises SettingsError for a wrong LABKIT_LAB."""
    given = environment.get(VARIABLE, "")
    if given not in ("", CONNECT):
        raise SettingsError(f"{VARIABLE}: expected {CONNECT!r} or nothing, not {given!r}")
    return given == CONNECT


def write_startup(folder: Path) -> None:
    """Write what a kernel runs before its first cell. folder: of its IPython, as in IPYTHONDIR."""
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / "labkit_lab.py").write_text(STARTUP)


class MissingNames:
    """The names that cells would have if all before them had run.

    connected: whether labs run in another process, so that cells with the tag `own-process` are skipped.
    """

    def __init__(self, connected: bool = True) -> None:
        self._connected = connected
        self._missing: set[str] = set()

    def reason(self, cell: NotebookNode) -> str | None:
        """Return why a cell is skipped, None if it can run; the names that it defines are then missing, too."""
        if cell.cell_type != "code":
            return None
        needed = sorted(CellNames.of(cell).needed & self._missing)
        if not needed and not (self._connected and TAG in cell.metadata.get("tags", [])):
            return None
        self.skipped(cell)
        if not self._connected:
            return f"needs {', '.join(needed)}, which a skipped cell defines"
        what = f"{', '.join(needed)}, which a cell defines" if needed else "what a cell does"
        return f"needs {what} that needs the lab's own process"

    def skipped(self, cell: NotebookNode) -> None:
        """Note that a cell did not run to its end."""
        self._missing |= CellNames.of(cell).defined

    def ran(self, cell: NotebookNode) -> None:
        """Note that a cell has run."""
        self._missing -= CellNames.of(cell).defined


def skip(cell: NotebookNode, reason: str) -> None:
    """Give a cell the reason of its skip as its output."""
    cell.outputs = [new_output("stream", name="stderr", text=f"skipped: {reason}\n")]
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), SKIPPED]
