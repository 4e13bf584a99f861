"""The shares into which a fleet is dealt to workers, as whoever started it knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from labkit.fleet.plan import Plan


@dataclass(slots=True)
class Death:
    """A worker that died while it played. time: lab time; devices: how many had not ended; epoch: the highest in which
    they go on, None as long as they do not."""

    time: float
    worker: str
    pid: int
    devices: int
    epoch: int | None = None


@dataclass(slots=True)
class Dealt:
    """A share, and what is known of it. last: lab time up to which its worker has told."""

    number: int
    plan: Plan
    worker: str | None = None  # its address
    pid: int = 0
    attempt: int = 0
    last: float = 0.0
    states: Mapping[str, int] = field(default_factory=dict)
    death: Death | None = None  # of the worker before
    done: bool = False
