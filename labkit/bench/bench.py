"""All measures, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from labkit.bench import polls, rounds
from labkit.bench.control import BenchError
from labkit.bench.measures import TRAFFIC, Result

NAMES = (*(traffic.name for traffic in TRAFFIC), "polls")


def run(
    names: Sequence[str] = NAMES,
    *,
    count: int = 5,
    seconds: float = 3.0,
    held: int = polls.POLLS,
    progress: Callable[[str], object] = lambda text: None,
) -> list[Result]:
    """Take the measures named: `count` rounds of `seconds` seconds of traffic each, or `held` polls.

    Raises BenchError for an unknown name, or where a measurement cannot be made.
    """
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise BenchError(f"no measure {unknown[0]!r}, there are: {', '.join(NAMES)}")
    results = [rounds.take(traffic, count, seconds, progress) for traffic in TRAFFIC if traffic.name in names]
    if "polls" in names:
        results.append(polls.take(held, progress))
    return results
