"""Papermill engine for the notebooks of a report, registered by an entry point in pyproject.toml."""

from __future__ import annotations

from typing import Any

from papermill.engines import NBClientEngine

NAME = "labkit"


class Engine(NBClientEngine):  # type: ignore[misc]  # papermill has no types
    """Papermill's standard engine, except that it writes the notebook only once, at its end or failure.

    The standard engine writes the whole notebook before and after each cell, which takes longer than most cells.
    """

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
        """Run the cells. Raises what papermill's engine raises."""
        nb_man.output_path, output = None, nb_man.output_path
        try:
            return super().execute_managed_notebook(nb_man, kernel_name, **options)
        finally:
            nb_man.output_path = output
