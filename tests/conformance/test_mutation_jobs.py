"""Distribution of mutants and checks over processes."""

from __future__ import annotations

from collections import Counter

import pytest

from labkit.conformance.check import all_checks
from labkit.conformance.mutant import Patch
from labkit.conformance.rows import all_mutants
from tests.conformance.mutation_jobs import TOGETHER, Job, planned


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    return planned(all_mutants(), all_checks())


def test_each_mutant_and_each_check_has_a_job(jobs: list[Job]) -> None:
    assert Counter(name for job in jobs for name in job["mutants"]) == Counter(
        each.name for each in all_mutants()
    )
    assert Counter(name for job in jobs for name in job["checks"]) == Counter(
        each.name for each in all_checks()
    )


def test_the_mutants_of_a_part_share_a_job_with_its_checks(jobs: list[Job]) -> None:
    shared = [job for job in jobs if job["mutants"] and not job["alone"]]
    parts = [{name.partition("/")[0] for name in job["mutants"] + job["checks"]} for job in shared]
    assert sum(map(len, parts)) == len(set[str]().union(*parts))
    assert len(shared) >= len(all_mutants()) / TOGETHER / 2


def test_mutants_that_need_their_own_lab_have_their_own_job(jobs: list[Job]) -> None:
    alone = {job["mutants"][0] for job in jobs if job["alone"]}
    assert alone == {
        each.name for each in all_mutants() if isinstance(each, Patch) and (each.alone or each.from_start)
    }
    assert all(len(job["mutants"]) == 1 and job["checks"] == [] for job in jobs if job["alone"])


def test_a_model_check_has_its_own_job_and_the_longest_jobs_come_first(jobs: list[Job]) -> None:
    models = {each.name for each in all_checks() if each.model is not None}
    first, others = jobs[: len(models)], jobs[len(models) :]
    assert all(job["mutants"] == [] and len(job["checks"]) == 1 for job in first)
    assert {job["checks"][0] for job in first} == models
    sizes = [len(job["mutants"]) + len(job["checks"]) for job in others]
    assert sizes == sorted(sizes, reverse=True)


def test_without_checks_there_are_only_jobs_of_mutants() -> None:
    assert planned([]) == []
    patch = next(
        each for each in all_mutants() if isinstance(each, Patch) and not each.alone and not each.from_start
    )
    assert planned([patch]) == [{"mutants": [patch.name], "checks": [], "alone": False}]
