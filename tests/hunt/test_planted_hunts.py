"""Hunts of the stories with planted bugs find and cut down each bug, and find nothing in its mended twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.hunt import Hunt, HuntFailure, Menu, hunt, replay
from labkit.hunt.plays.written import read
from tests.hunt.planted import PLANTED, WILD, twin_of
from tests.sizes import size

pytestmark = [pytest.mark.sampled, pytest.mark.timeout(1200)]
PLAYS = 200  # in which each bug is found
MOST = 3  # faults of the smallest play


def found_failure(found: Hunt) -> HuntFailure:
    """Return the only failure, which is a broken promise, and whose smallest play has few faults."""
    [failure] = found.failures.values()
    assert (failure.breach.promise, failure.breach.state) == (found.plan.story.promises[0].name, "broken")
    assert failure.smallest is not None, failure.note
    assert 1 <= len(failure.smallest.played.faults) <= MOST, str(failure)
    return failure


@pytest.mark.parametrize("name", PLANTED)
def test_a_hunt_finds_a_bug_and_cuts_it_down(name: str, tmp_path: Path) -> None:
    """Also, the written play breaks the bug again, byte for byte, and not the twin."""
    level = "wild" if name in WILD else "rough"
    found = hunt(PLANTED[name], PLAYS, workers=0, level=level, shrink=size(60, 400))
    file = found_failure(found).save(tmp_path)
    again = replay(read(file), beside=file, check=False)
    assert again.is_exact
    assert again.breach is not None
    mended = replay(read(file), story=twin_of(name), check=False)
    assert mended.breach is None, mended.text
    assert mended.state == "kept" or mended.missed  # one that avoids the call which a fault delays
    assert not any(mended.played.absent)


@pytest.mark.parametrize("name", PLANTED)
def test_a_hunt_finds_nothing_in_a_twin(name: str) -> None:
    """Also, most plays put the promise to the test, and have faults."""
    seeds = size(6, 1000)
    found = hunt(twin_of(name), seeds, workers=0)
    assert found.good, found.text()
    assert found.promises == {twin_of(name).promises[0].name: {"kept": seeds}}
    assert sum(bool(each.row and each.row.faults) for each in found.done) > seeds / 2


def test_a_hunt_under_restarts_alone_finds_the_lost_token() -> None:
    """Each handler that overlaps another one has globals of its own, so that overlap shows this bug, too."""
    found = hunt(PLANTED["lost_token"], PLAYS, workers=0, level=Menu(kinds="platform"), shrink=60)
    found_failure(found)
    assert hunt(twin_of("lost_token"), size(12, 1000), workers=0, level=Menu(kinds="platform")).good
