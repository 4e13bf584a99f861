"""A lab that is started before a fork server forks, so that forked processes need not start their own.

Each process goes on with its own copy of the lab, which is as fresh as a new one, and available in a tenth of the
time. A run of all checks on such copies shows that they are as good. Faults take effect also in a lab that was
started before the fork, since no module-level object changes after import; a fault that did not would survive, and a
test reports it.
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
        """Return the resumed lab as a target, once in a process; it ends with the process."""
        return Target.local(Lab.resumed(self.control), SEED, self.settings, self.domains)


_kept: list[
    Warm
] = []  # one at most: the lab that `prepare` started, for the processes that are forked from this one


def prepare() -> None:
    """Prepare this process as `labkit.conformance.preload` does, and start a lab for each process that is forked from
    it.
    """
    from labkit.conformance import preload  # it imports everything that takes long

    preload.prepare()
    _kept.append(warmed())


def take() -> Warm | None:
    """Return the prepared lab, for this process alone; None if there is none, or it is in use."""
    return _kept.pop() if _kept else None


@contextmanager
def target_of_seed() -> Iterator[Target]:
    """Provide the prepared lab, or a new one of the same seed, which is closed afterwards."""
    if (warm := take()) is not None:
        yield warm.target()
        return
    with open_target(seed=SEED) as fresh:
        yield fresh


def warmed() -> Warm:
    """Start a lab as `Lab(SEED, config=LAB_YAML)` does, and return it suspended, without threads or loops."""
    settings = load(LAB_YAML)

    async def start() -> Warm:
        control = await Control.start(settings, seed=SEED)
        domains = {each.id: each.domain for each in await control.products.all()}
        domains |= {each.id: each.domain for each in await control.solutions.all()}
        await control.suspend()
        return Warm(control, settings, domains)

    return asyncio.run(start())
