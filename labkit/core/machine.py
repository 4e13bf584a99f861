"""Speed of the machine, by which limits of real time are scaled."""

from __future__ import annotations

from labkit.core.host_time import perf_counter

QUICK = 0.025  # seconds in which a quick machine that is idle does the measured work
ROOM = 2  # for the load of the work itself
SLOWEST = 20.0


def slowness() -> float:
    """Measure the machine, and return the factor of limits against a hang: ROOM on a quick one, more on a busy one."""
    rounds = []
    for _ in range(5):
        began = perf_counter()
        sum(hash((number, str(number))) for number in range(100_000))
        rounds.append(perf_counter() - began)
    return round(min(max(ROOM * sorted(rounds)[2] / QUICK, 1.0), SLOWEST), 1)
