"""The lab in which the tests of a solution's folder run."""

from __future__ import annotations

from pathlib import Path

from labkit.core.errors import SettingsError
from labkit.lab.lab import Lab
from labkit.lab.solution import Solution
from labkit.settings import load

PRODUCT, SOLUTION = "device", "solution"


def lab_of_folder(folder: Path, config: Path | None, seed: int) -> tuple[Lab, Solution]:
    """Return a new lab with the solution of a folder; the caller closes it.

    config: a lab.yaml, one of whose solutions has this folder. Without it, the lab has this solution alone, and one
    product, which gets the resources of specs/resources.yaml. Raises LabkitError, and leaves nothing behind.
    """
    if config is None:
        lab = Lab(seed=seed)
        try:
            product = lab.product(PRODUCT)
            return lab, lab.solution(SOLUTION, products=[product], path=folder)
        except BaseException:
            lab.close()
            raise
    settings = load(config)
    for each in settings.solutions:
        if any(path.resolve() == folder.resolve() for path in each.path):
            lab = Lab(seed=seed, config=settings)
            return lab, lab.solution(each.id)
    raise SettingsError(f"{config}: no solution has the path {folder}")
