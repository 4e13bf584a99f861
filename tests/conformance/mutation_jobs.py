"""Jobs: the mutants that share a process and its lab, and the checks that run there without a fault."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from labkit.conformance.check import Check
from labkit.conformance.mutant import Mutant, Patch

TOGETHER = 40  # mutants after which a process gets no further part


class Job(TypedDict):
    """The work of one process, as plain data: mutants and checks, by name; alone: whether its one mutant needs its
    own lab.
    """

    mutants: list[str]
    checks: list[str]
    alone: bool


def planned(mutants: Iterable[Mutant], control: Iterable[Check] = ()) -> list[Job]:
    """Return the jobs, the longest first. The mutants of a part share one, with the checks that notice most of them.

    control: the checks, each once. A model check, which no mutant needs, has its own job: it takes as long as dozens
    of other checks, and longer on a lab with much data.
    """
    models: list[Job] = []
    alone: list[Job] = []
    shared: dict[str, Job] = {}  # by part
    last: dict[str, Job] = {}  # by area
    for each in mutants:
        if isinstance(each, Patch) and (each.alone or each.from_start):
            alone.append(Job(mutants=[each.name], checks=[], alone=True))
            continue
        _job(each, shared, last)["mutants"].append(each.name)
    for check in control:
        if check.model is None:
            _job(check, shared, last)["checks"].append(check.name)
        else:
            models.append(Job(mutants=[], checks=[check.name], alone=False))
    jobs = {id(each): each for each in shared.values()}.values()
    return [*models, *sorted(jobs, key=lambda job: -len(job["mutants"]) - len(job["checks"])), *alone]


def _job(each: Mutant | Check, shared: dict[str, Job], last: dict[str, Job]) -> Job:
    """Return the job of a part, or the last job of its area unless that is full."""
    part, area = each.name.partition("/")[0], each.requirements[0].partition("-")[0]
    if part not in shared:
        job = last.get(area)
        if job is None or len(job["mutants"]) >= TOGETHER or len(job["checks"]) >= TOGETHER:
            job = last[area] = Job(mutants=[], checks=[], alone=False)
        shared[part] = job
    return shared[part]
