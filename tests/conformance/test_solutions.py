"""The solutions that the checks use."""

import filecmp
from pathlib import Path

import pytest

from labkit.conformance.keystore.operations import checks_commands
from labkit.conformance.target import LAB_YAML
from labkit.services.keystore.commands import COMMANDS

OURS = Path(LAB_YAML).parent / "fixtures" / "solutions"
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


@pytest.mark.parametrize("name", files(SHOWN / "guide"))
def test_the_checks_test_the_guides_solution_that_notebooks_show(name: str) -> None:
    assert filecmp.cmp(OURS / "guide" / name, SHOWN / "guide" / name, shallow=False)


def test_the_guides_solution_has_one_more_file_with_a_route_of_the_probe() -> None:
    assert set(files(OURS / "guide")) - set(files(SHOWN / "guide")) == {"endpoints/call.lua"}
    route = (OURS / "guide" / "endpoints" / "call.lua").read_text()
    assert route in (OURS / "probe" / "endpoints" / "services.lua").read_text()


def test_its_python_twin_is_the_one_that_notebooks_show() -> None:
    assert filecmp.cmp(OURS / "metrics_python.py", SHOWN / "metrics_python.py", shallow=False)


def test_every_command_of_the_keystore_is_played() -> None:
    rows = [each for each in vars(checks_commands).values() if isinstance(each, list)]
    played = {command for row in rows for command, _, _ in row}
    with_times = {"expireat", "pexpireat"}  # which the check of expiry makes up from the target's clock
    assert played | with_times == set(COMMANDS)
