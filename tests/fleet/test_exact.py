"""A seed gives the same run again: journal and frame, byte for byte, whatever else the machine does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet import story

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def first() -> str:
    return story.digest()


def test_twice_in_one_process(first: str) -> None:
    assert story.digest() == first


def test_in_another_process(first: str) -> None:
    assert _elsewhere() == first


def test_beside_heavy_load(first: str) -> None:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(1000))"]) for _ in range(2)]
    try:
        assert _elsewhere() == first
    finally:
        for each in busy:
            each.kill()
            each.wait()


def test_another_seed_is_another_story(first: str) -> None:
    assert story.digest(seed=8, hours=0.5) != story.digest(seed=7, hours=0.5)


def test_a_device_does_the_same_whether_there_are_20_or_200() -> None:
    assert story.life(20, 17) == story.life(200, 17)


def test_a_device_does_the_same_among_thousands() -> None:
    few, many = (story.life(count, 17, hours=0.7) for count in (20, 2000))
    assert few == many
    assert sum("request" in line for line in few) >= 2


def _elsewhere() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fleet.story"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
