"""A story that goes on after a restore is the story that goes on without: random stories, cut at a random point."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit import Lab
from tests.rig import ran
from tests.sizes import size
from tests.snapshots.told import STEPS, Step, begin, tell

ALL: tuple[Step, ...] = tuple(
    (name, tenant, number)
    for number, name in enumerate(
        ["fault", "write", "phone", "count", "poll", "light", "person", "advance"] * 2
    )
    for tenant in (0, 1)
)
steps = st.lists(st.tuples(st.sampled_from(list(STEPS)), st.integers(0, 1), st.integers(0, 11)), max_size=8)


@settings(max_examples=size(8, 80), deadline=None, suppress_health_check=list(HealthCheck))
@given(before=steps, after=steps, other=steps, journal=st.booleans())
def test_a_restored_lab_goes_on_as_one_that_was_not(
    before: list[Step], after: list[Step], other: list[Step], journal: bool
) -> None:
    with TemporaryDirectory() as folder, begin() as lab:
        tell(lab, before)
        path, count = Path(folder) / "past.lab", len(lab.journal)
        lab.save(path, journal=journal)
        expected = tell(lab, after), lab.journal.canonical(since=count), len(lab.journal)
        tell(lab, other)
        lab.restore(path)
        assert len(lab.journal) == (count if journal else 0)
        assert tell(lab, after) == expected[0]
        assert lab.journal.canonical(since=count) == expected[1]
        assert not journal or len(lab.journal) == expected[2]
        with Lab(seed=7) as fresh:
            fresh.restore(path)
            assert tell(fresh, after) == expected[0]
            assert fresh.journal.canonical(since=count) == expected[1]


@pytest.mark.sampled
def test_another_process_continues_from_the_file(tmp_path: Path) -> None:
    with begin() as lab:
        tell(lab, ALL)
        path, count = lab.save(tmp_path / "past.lab"), len(lab.journal)
        expected = [json.loads(json.dumps(tell(lab, ALL))), lab.journal.canonical(since=count)]
    program = (
        "import json, sys; from labkit import Lab; from tests.snapshots.test_continued import ALL, tell\n"
        "with Lab(seed=7) as lab:\n"
        "    lab.restore(sys.argv[1])\n"
        "    print(json.dumps([tell(lab, ALL), lab.journal.canonical(since=int(sys.argv[2]))]))"
    )
    done = ran(
        sys.executable, "-c", program, path, count, check=True, env={**os.environ, "PYTHONHASHSEED": "3"}
    )
    assert json.loads(done.stdout) == expected


def test_a_module_of_a_cell_is_in_the_file(lab: Lab, tmp_path: Path) -> None:
    lab.solution("acme").module("util.m", "return 5")
    path = lab.save(tmp_path / "past.lab")
    with Lab(seed=7) as fresh:
        fresh.restore(path)
        assert fresh.solution("acme").run("return require('util.m')") == 5


def test_a_snapshot_in_memory_can_be_restored_again_and_again() -> None:
    with begin() as lab:
        tell(lab, ALL[:8])
        past, count = lab.snapshot(), len(lab.journal)
        assert repr(past).startswith("<snapshot of 0.")
        told = []
        for _ in range(3):
            told.append((tell(lab, ALL), lab.journal.canonical(since=count)))
            lab.restore(past)
        assert told[0] == told[1] == told[2]
        assert lab.snapshot().content == past.content or lab.snapshot().size == past.size
