"""A seed gives the same run again: journal and frame, byte for byte, whatever else the machine does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet import story

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)


def test_twice_in_one_process_and_in_others_each_beside_heavy_load() -> None:
    """Alone at first, then three at once, which take each other's time."""
    first = story.digest()
    others = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.fleet.story"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    here = story.digest()
    assert [here, *(each.communicate()[0].strip() for each in others)] == [first] * 3
    assert [each.returncode for each in others] == [0, 0]


def test_another_seed_is_another_story() -> None:
    assert story.digest(seed=8, hours=0.5) != story.digest(seed=7, hours=0.5)


def test_a_device_does_the_same_whether_there_are_20_or_200() -> None:
    assert story.life(20, 17) == story.life(200, 17)


def test_a_device_does_the_same_among_thousands() -> None:
    few, many = (story.life(count, 17, hours=0.7) for count in (20, 2000))
    assert few == many
    assert sum("request" in line for line in few) >= 2
