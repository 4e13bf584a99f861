"""A lab that is there before a process is forked (by a fork server), so that what is forked need not start its own.

Each process goes on with a copy: what one does to it, no other sees. It is as fresh as one that was started there,
and comes at a tenth of the time. That it is as good, a play of all checks on copies of it says. What mutants break is
not kept over a lab's life (no module-level object changes after import), so a lab that was here before the fork hides
no fault: a mutant that it did hide would survive, and a test says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from labkit.conformance.target import LAB_YAML, Target, open_target
from labkit.control.control import Control
from labkit.lab.lab import Lab
from labkit.settings import LabSettings, load

SEED = 1


@dataclass(frozen=True)
class Warm:
    """A suspended lab of `conformance/lab.yaml`."""

    control: Control
    settings: LabSettings
    domains: dict[str, str]

    def target(self) -> Target:
        """The lab, resumed: once in a process, with which it ends."""
        return Target.local(Lab.resumed(self.control, SEED), SEED, self.settings, self.domains)


_kept: list[Warm] = []  # one at most: what `prepare` made, for the processes that are forked from this one


def prepare() -> None:
    """As `labkit.conformance.preload` does, then have a lab for each process that is forked from this one."""
    from labkit.conformance import preload  # which imports all that takes long

    preload.prepare()
    _kept.append(warmed())


def take() -> Warm | None:
    """The lab that was prepared, for this process alone; None where there is none, or it was taken."""
    return _kept.pop() if _kept else None


@contextmanager
def target_of_seed() -> Iterator[Target]:
    """The lab that was prepared; where there is none, a new one of the same seed, which is closed afterwards."""
    if (warm := take()) is not None:
        yield warm.target()
        return
    with open_target(seed=SEED) as fresh:
        yield fresh


def warmed() -> Warm:
    """A lab as `Lab(SEED, config=LAB_YAML)` starts it, suspended. No thread or loop of it is left."""
    settings = load(LAB_YAML)

    async def start() -> Warm:
        control = await Control.start(settings, seed=SEED)
        domains = {each.id: each.domain for each in await control.products.all()}
        domains |= {each.id: each.domain for each in await control.solutions.all()}
        await control.suspend()
        return Warm(control, settings, domains)

    return asyncio.run(start())
