"""The lab in which the tests of a solution's folder run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from labkit.core.errors import LabWarning, SettingsError
from labkit.lab.lab import Lab
from labkit.lab.script_tests import SolutionTests
from labkit.lab.solution import Solution
from labkit.script_tests.suite import describes_product
from labkit.settings import LabSettings, load

PRODUCT, SOLUTION = "device", "solution"


@dataclass(frozen=True)
class FolderLab:
    """A lab with the solution of a folder, and its tests. warnings: about settings and folders of the lab."""

    lab: Lab
    solution: Solution
    tests: SolutionTests
    warnings: tuple[str, ...]


def lab_of_folder(folder: Path, config: Path | None, seed: int, *, covers: bool = False) -> FolderLab:
    """Return a new lab with the solution of a folder; the caller closes it.

    config: a lab.yaml, one of whose solutions has this folder. Without it, the lab has this solution alone, and the
    product that its services/device2.yaml describes, else one that gets the resources of specs/resources.yaml.
    covers: whether its tests count the lines that run. Raises LabkitError, and leaves nothing behind.
    """
    id, settings = (SOLUTION, None) if config is None else _configured(folder, config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabWarning)  # the result has them
        lab = Lab(seed=seed, config=settings)
        try:
            if settings is None:
                products = [] if describes_product(folder) else [lab.product(PRODUCT)]
                lab.solution(id, products=products, path=folder)
            solution = lab.solution(id)
            tests = SolutionTests(lab._runtime, solution, covers=covers)
            return FolderLab(lab, solution, tests, tests.warnings())
        except BaseException:
            lab.close()
            raise


def _configured(folder: Path, config: Path) -> tuple[str, LabSettings]:
    """Return the id of the solution with a folder in a lab.yaml, and the settings there. Raises SettingsError."""
    settings = load(config)
    for each in settings.solutions:
        if any(path.resolve() == folder.resolve() for path in each.path):
            return each.id, settings
    raise SettingsError(f"{config}: no solution has the path {folder}")
