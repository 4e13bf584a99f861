"""The solutions that the checks use."""

import filecmp
from pathlib import Path

import pytest

from labkit.conformance.target import LAB_YAML

OURS = Path(LAB_YAML).parent / "solutions"
SHOWN = Path(__file__).parents[2] / "notebooks" / "solutions"


def files(folder: Path) -> list[str]:
    return sorted(
        each.relative_to(folder).as_posix() for each in folder.rglob("*.*") if each.suffix != ".pyc"
    )


@pytest.mark.parametrize("name", files(SHOWN / "metrics"))
def test_the_checks_test_the_metrics_pattern_that_notebooks_show(name: str) -> None:
    assert filecmp.cmp(OURS / "metrics" / name, SHOWN / "metrics" / name, shallow=False)


def test_the_metrics_pattern_has_the_same_files() -> None:
    assert files(OURS / "metrics") == files(SHOWN / "metrics")


def test_its_python_twin_is_the_one_that_notebooks_show() -> None:
    assert filecmp.cmp(OURS / "metrics_python.py", SHOWN / "metrics_python.py", shallow=False)
