"""How papermill runs a report's notebooks; it finds this engine by the entry point in pyproject.toml."""

from __future__ import annotations

from typing import Any

from papermill.engines import NBClientEngine

NAME = "labkit"


class Engine(NBClientEngine):  # type: ignore[misc]  # papermill has no types
    """As papermill's own, but it writes the notebook once, at its end, however that comes.

    Papermill's writes all of it before and after each cell, which takes longer than most cells.
    """

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
        """Run the cells. Raises what papermill's engine raises."""
        nb_man.output_path, output = None, nb_man.output_path
        try:
            return super().execute_managed_notebook(nb_man, kernel_name, **options)
        finally:
            nb_man.output_path = output
