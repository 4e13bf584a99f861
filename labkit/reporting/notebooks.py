"""Command that runs the notebooks of a checkout and stores their outputs: `python -m labkit.reporting.notebooks`.

It also writes the links between them (contents.py). Outputs are stored without parts that change from run to run. Tests
run the notebooks with nbval, which compares text and tables strictly, but not pictures: a chart therefore shows its
numbers, too.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import nbformat
from nbformat import NotebookNode

from labkit.core.commands import PRESENT_FILE
from labkit.core.errors import LabkitError
from labkit.reporting.contents import write_links
from labkit.reporting.parameters import INJECTED, UNWATCHED, declared
from labkit.reporting.run_notebook import NotebookError, read, run_notebook
from labkit.settings.notebooks import PACKAGE, notebooks_folder

IGNORED = "nbval-ignore-output"  # the tag of a cell whose output differs from run to run
KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
WORKERS = 2


def find_notebooks(folder: Path) -> list[Path]:
    """Return the notebooks of a folder, sorted by name. Raises NotebookError if there is none."""
    found = sorted(path for path in folder.glob("*.ipynb") if not path.name.startswith("."))
    if not found:
        raise NotebookError(f"{folder}: holds no notebooks")
    return found


def reports_folder(notebooks: Path) -> Path:
    """Return the folder for reports: `reports` beside the notebooks' folder.

    For the notebooks of an installed labkit, it is `reports` in the current folder.
    """
    beside = notebooks.resolve().parent
    return (Path.cwd() if beside == PACKAGE else beside) / "reports"


def refresh(path: Path) -> float:
    """Run a notebook without people (UNWATCHED), else with its defaults, and store its outputs.

    Returns the duration in seconds of real time. Raises NotebookError if a cell raises.
    """
    start = time.perf_counter()
    defaults = declared(read(path), path.name)
    run = run_notebook(path, None, {name: value for name, value in UNWATCHED.items() if name in defaults})
    if run.error is not None:
        raise NotebookError(f"{path.name}: {run.error}")
    nbformat.write(without_unstable_outputs(run.notebook), path)
    return time.perf_counter() - start


def without_unstable_outputs(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook without given parameters, metadata but alternative texts, versions, and outputs that no test
    compares.
    """
    notebook.cells = [cell for cell in notebook.cells if INJECTED not in cell.metadata.get("tags", [])]
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": {"name": "python"}})
    number = 0
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        if cell.cell_type != "code":
            continue
        if cell.execution_count is not None:
            number += 1
            cell.execution_count = number
        if tags and IGNORED in tags:
            cell.outputs = []
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
            if "metadata" in output:
                texts = {kind: of for kind, of in output.metadata.items() if "alt" in of}
                output.metadata = nbformat.from_dict(texts)
    return notebook


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("notebooks", nargs=-1, type=PRESENT_FILE)
def main(notebooks: tuple[Path, ...]) -> None:
    """Run NOTEBOOKS, by default all, store their outputs in place, and write the links between all.

    The exit status is 0 if no cell raised an exception.
    """
    from tqdm import tqdm

    try:
        paths = list(notebooks) or find_notebooks(notebooks_folder())
    except LabkitError as error:
        raise click.ClickException(str(error)) from None
    measured: dict[Path, float] = {}
    with (
        tqdm(total=len(paths), unit="notebook", desc="notebooks") as bar,
        ThreadPoolExecutor(WORKERS) as pool,
    ):
        for path, future in [(path, pool.submit(refresh, path)) for path in reversed(paths)]:
            try:
                measured[path] = future.result()
            except LabkitError as error:
                bar.write(f"{error}", file=sys.stderr)
            bar.set_postfix_str(path.stem)
            bar.update()
    for folder in {path.parent for path in paths}:
        own = {path.stem: seconds for path, seconds in measured.items() if path.parent == folder}
        write_links(find_notebooks(folder), own)
    sys.exit(1 if len(measured) < len(paths) else 0)


if __name__ == "__main__":
    main(prog_name="python -m labkit.reporting.notebooks")
