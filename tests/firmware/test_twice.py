"""A story that is played two times, and the first difference of its journals."""

from __future__ import annotations

import itertools

import pytest

from labkit import Lab, LabError
from tests.firmware.programs import python

SLEEPER = "import random, time\nwhile True:\n  time.sleep(10 * random.random())\n  print('awake')"


def sleeps(lab: Lab) -> None:
    lab.firmware(python(SLEEPER), identity="d")
    lab.clock.advance(60)


def test_a_story_that_repeats(lab: Lab) -> None:
    found = lab.firmware.twice(sleeps)
    assert found.line is None
    assert not found.is_worse
    assert "the journals are equal" in str(found)
    assert len(found.a.lines) > 3


def test_a_story_that_does_not_repeat(lab: Lab) -> None:
    played = itertools.count(5)

    def story(lab: Lab) -> None:
        lab.clock.advance(1)
        lab.firmware(python(f"print('play')\nprint({next(played)})"), identity="d", ends=True)

    found = lab.firmware.twice(story)
    assert (found.line, found.title) == (3, "changed: summary")
    assert 'summary: "5"' in str(found)
    assert 'summary: "6"' in str(found)


def test_a_seed_of_its_own(lab: Lab) -> None:
    texts = [lab.firmware.twice(sleeps, seed=seed).a.lines for seed in (1, 2, 1)]
    assert texts[0] != texts[1]
    assert texts[0] == texts[2]


def test_what_cannot_be_compared(lab: Lab) -> None:
    with pytest.raises(LabError, match="the journal has dropped"):
        lab.firmware.twice(sleeps, journal={"records": 5})
    with Lab() as other, pytest.raises(LabError, match="twice: needs a seed"):
        other.firmware.twice(sleeps)
