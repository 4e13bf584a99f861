"""Small notebooks and verdicts for the tests of reporting."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import nbformat

from labkit.conformance.catalogue import Catalogue, Requirement, Statement
from labkit.conformance.check import Check
from labkit.conformance.coverage import Coverage, cover
from labkit.conformance.fork_server import AVAILABLE, ForkServer
from labkit.conformance.mutant import Mutant
from labkit.conformance.target import Target
from labkit.conformance.verdict import Outcome, Verdict

PARAMETERS = "parameters"


def notebook(*cells: str, kernel: str = "python3") -> Any:
    """Return a notebook of code cells, or of text if they begin with `#`; `# parameters` tags a cell of parameters."""
    made = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": kernel, "display_name": "x"}})
    for source in cells:
        if source.startswith("# parameters\n"):
            made.cells.append(nbformat.v4.new_code_cell(source, metadata={"tags": [PARAMETERS]}))
        elif source.startswith("#"):
            made.cells.append(nbformat.v4.new_markdown_cell(source))
        else:
            made.cells.append(nbformat.v4.new_code_cell(source))
    return made


def written(path: Path, *cells: str, **options: Any) -> Path:
    """Write a notebook as a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook(*cells, **options), path)
    return path


class SharedServer(ForkServer):
    """The fork server that all tests share, while a run has one of its own. address: its socket."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, preload: str) -> nullcontext[SharedServer]:
        return nullcontext(self)

    def wait(self) -> bool:
        return AVAILABLE


def verdict(check: str, requirements: str, outcome: Outcome = "passed", **details: Any) -> Verdict:
    return Verdict(check, tuple(requirements.split()), f"title of {check}", outcome, **details)


async def _nothing(target: Target) -> None:
    raise AssertionError("never played")


def small() -> Coverage:
    """Return a coverage of two parts: a `must` with two checks and a mutant, a `choice`, an unchecked `must`."""
    statements = {
        reference: Statement(reference, "Document <1>", "Section & more", reference[-1], f"gist {reference}")
        for reference in ("1/a/1", "1/a/2")
    }
    requirements = [
        Requirement("AA-ONE-1", "must", ("1/a/1",), "It answers < 1 s | always."),
        Requirement("AA-ONE-2", "choice", ("1/a/1", "1/a/2"), "It answers politely."),
        Requirement("AA-TWO-1", "must", ("1/a/2",), "Nobody can break it.", "it is a definition"),
    ]
    checks = [
        Check("two/other", ("AA-ONE-2",), "polite", frozenset(), _nothing),
        Check("one/first", ("AA-ONE-1",), "title <b>first</b>", frozenset(), _nothing),
        Check("one/second", ("AA-ONE-1", "AA-ONE-2"), "second", frozenset(), _nothing),
    ]
    mutants = [Mutant("one/slow", ("AA-ONE-1",), "the answer waits", "smoke")]
    catalogue = Catalogue(
        statements, {each.id: each for each in requirements}, frozenset(), {"AA-ONE": "one", "AA-TWO": "two"}
    )
    return cover(catalogue, checks, mutants)
