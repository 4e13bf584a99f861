"""Papermill engine for the notebooks of a report, registered by an entry point in pyproject.toml."""

from __future__ import annotations

from typing import Any

from nbclient.exceptions import CellExecutionError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine

from labkit.core.errors import OwnProcessError
from labkit.reporting.connected import MissingNames, connects, skip
from labkit.reporting.skipping import SkippedError

NAME = "labkit"
SKIPPING = {OwnProcessError.__name__, SkippedError.__name__}  # errors that skip a cell


class Engine(NBClientEngine):  # type: ignore[misc]  # papermill has no types
    """Papermill's standard engine, except that it skips cells that cannot run here, and writes the notebook only once.

    The standard engine writes the whole notebook before and after each cell, which takes longer than most cells.
    """

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
        """Run the cells. Raises what papermill's engine raises."""
        nb_man.output_path, output = None, nb_man.output_path
        try:
            return _skipping(nb_man, kernel_name, **options)
        finally:
            nb_man.output_path = output


class SkippingClient(PapermillNotebookClient):  # type: ignore[misc]  # papermill has no types
    """Client of a kernel that skips the cells which need the lab's own process, or what this machine lacks."""

    def papermill_execute_cells(self) -> None:
        """Run the cells, until one raises any other error."""
        missing = MissingNames(connects())
        for index, cell in enumerate(self.nb.cells):
            try:
                self.nb_man.cell_start(cell, index)
                reason = missing.reason(cell)
                if reason is None:
                    self.execute_cell(cell, index)
                    missing.ran(cell)
                else:
                    skip(cell, reason)
            except CellExecutionError as error:
                if error.ename not in SKIPPING:
                    self.nb_man.cell_exception(cell, cell_index=index, exception=error)
                    break
                missing.skipped(cell)
                skip(cell, error.evalue)
            finally:
                self.nb_man.cell_complete(self.nb.cells[index], cell_index=index)


def _skipping(nb_man: Any, kernel_name: str, **options: Any) -> Any:
    """Run the cells with a client that skips those which cannot run here."""
    left_out = (
        "input_path",
        "log_output",
        "stdout_file",
        "stderr_file",
        "start_timeout",
        "execution_timeout",
    )
    named = {name: value for name, value in options.items() if name not in left_out}
    client = SkippingClient(nb_man, timeout=options["execution_timeout"], kernel_name=kernel_name, **named)
    return client.execute()
