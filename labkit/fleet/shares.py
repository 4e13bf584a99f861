"""The coordinator's record of which worker runs which devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from labkit.fleet.plan import Plan


@dataclass(slots=True)
class Death:
    """Death of a worker during a run.

    time: lab time; devices: number that had not ended; epoch: the highest in which they restart, None until they do.
    """

    time: float
    worker: str
    pid: int
    devices: int
    epoch: int | None = None


@dataclass(slots=True)
class Dealt:
    """A shard of the fleet and its state. last: lab time up to which its worker has reported."""

    number: int
    plan: Plan
    worker: str | None = None  # address
    pid: int = 0
    attempt: int = 0
    last: float = 0.0
    states: Mapping[str, int] = field(default_factory=dict)
    death: Death | None = None  # of the previous worker
    done: bool = False
