"""Exact replay of stories: people, polls, restarts and two fleets, byte for byte, whatever the load of the machine."""

from __future__ import annotations

import random

import pytest

from labkit.fleet.transport import Transport
from tests.lab import acting
from tests.replays import elsewhere, late_reads
from tests.sizes import size

pytestmark = [pytest.mark.sampled, pytest.mark.timeout(300)]


@pytest.mark.parametrize("seed", range(7, 7 + size(2, 20)))
def test_a_story_replays_in_one_process_and_another(seed: int) -> None:
    """The other process runs at the same time, so that each is preempted by the other."""
    with elsewhere("tests.lab.acting", seed) as printed:
        first = acting.play(seed)
        again = acting.play(seed)
        assert printed() == acting.digests(first)
    assert again == first
    assert "handler" in first["seen"]
    assert "Error" in first["seen"]


def test_a_story_does_not_depend_on_when_answers_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of ten reads of clients are up to 4 ms late."""
    first = acting.play(11)
    monkeypatch.setattr(Transport, "_readable", late_reads(random.Random(1)))
    assert acting.play(11) == first


def test_another_seed_is_another_story() -> None:
    assert acting.play(3)["journal"] != acting.play(4)["journal"]
