"""Records of the coordinator: which worker runs which devices, and which workers died."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from labkit.fleet.plan import Plan


@dataclass(slots=True)
class Death:
    """Death of a worker during a run.

    time: lab time; devices: number of its unfinished devices; epoch: the highest epoch in which they restart, None
    until they do.
    """

    time: float
    worker: str
    pid: int
    devices: int
    epoch: int | None = None


@dataclass(slots=True)
class ShardRecord:
    """Shard of the fleet and its state. attempt: number of its starts; last: lab time of its worker's last report."""

    number: int
    plan: Plan
    worker: str | None = None  # address
    pid: int = 0
    attempt: int = 0
    last: float = 0.0
    states: Mapping[str, int] = field(default_factory=dict)
    death: Death | None = None  # of the previous worker
    done: bool = False
