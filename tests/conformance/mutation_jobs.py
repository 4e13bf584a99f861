"""Which mutants share a process and its lab, and which checks are played there without a fault."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from labkit.conformance.check import Check
from labkit.conformance.mutant import Mutant, Patch

TOGETHER = 40  # mutants after which a process gets no further part


class Job(TypedDict):
    """What one process does, as plain data: mutants and checks, by name; alone: has its one mutant a lab of its own?"""

    mutants: list[str]
    checks: list[str]
    alone: bool


def planned(mutants: Iterable[Mutant], control: Iterable[Check] = ()) -> list[Job]:
    """The jobs, the longest first: whole parts share one, and with them the checks that notice most of its mutants.

    control: the checks, each once. A model, which no mutant needs, has one of its own: it takes as long as dozens of
    other checks, and longer on a lab that has seen much.
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
    """That of a part, else the last of its area, unless that has enough."""
    part, area = each.name.partition("/")[0], each.requirements[0].partition("-")[0]
    if part not in shared:
        job = last.get(area)
        if job is None or len(job["mutants"]) >= TOGETHER or len(job["checks"]) >= TOGETHER:
            job = last[area] = Job(mutants=[], checks=[], alone=False)
        shared[part] = job
    return shared[part]
