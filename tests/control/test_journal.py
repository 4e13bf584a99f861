"""Traces and canonical names of single records, beside the same of the whole journal."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from labkit.control.journal import JournalControl
from labkit.core.canonical import canonical_names
from labkit.core.journal import Journal
from labkit.core.records import Entry
from labkit.labtime.clock import Clock


def control_of(journal: Journal) -> JournalControl:
    return JournalControl(cast(Any, SimpleNamespace(context=SimpleNamespace(journal=journal))))


async def filled(seed: int, capacity: int) -> Journal:
    """Return a journal of few actors and times, with causes and batches."""
    random, clock = Random(seed), Clock(0, start=100)
    journal = Journal(clock.micros, capacity=capacity)

    def described() -> list[Entry]:
        return [(each, {}, 1) for each in "abc"]

    for _ in range(60):
        cause = random.choice([None, None, random.randint(1, journal.last + 2), journal.last or None])
        if random.random() < 0.2:
            journal.record_batch("event", random.choice("ab"), 3, described, 1, cause)
        else:
            journal.record("log", random.choice("ab"), "x", cause=cause)
        if random.random() < 0.1:
            await clock.advance(1)
    return journal


@pytest.mark.parametrize("capacity", [1000, 40])
@pytest.mark.parametrize("seed", range(4))
async def test_a_single_record_has_its_name_in_the_canonical_text(seed: int, capacity: int) -> None:
    journal = await filled(seed, capacity)
    control, names = control_of(journal), canonical_names(journal.select())
    assert len(names) == len(journal)
    for sequence in range(journal.last + 2):
        assert await control.canonical_name(sequence) == names.get(sequence)


@pytest.mark.parametrize("capacity", [1000, 40])
@pytest.mark.parametrize("seed", range(4))
async def test_a_trace_has_all_that_the_first_cause_led_to(seed: int, capacity: int) -> None:
    journal = await filled(seed, capacity)
    control, records = control_of(journal), {each.sequence: each for each in journal}
    longest = 0
    for sequence in range(journal.last + 2):
        first = records.get(sequence)
        while first is not None and first.cause in records:
            first = records[first.cause]
        chain = set() if first is None else {first.sequence}
        for each in records.values():
            if each.cause in chain:
                chain.add(each.sequence)
        found = [each.sequence for each in await control.trace(sequence)]
        assert found == sorted(chain)
        longest = max(longest, len(found))
    assert longest > 3
