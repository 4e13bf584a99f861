"""All measures, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from labkit.bench import polls, rounds
from labkit.bench.control import BenchError
from labkit.bench.measures import ASSIGNMENTS, CALLS, TRAFFIC, Result

TITLES = {
    **{traffic.name: traffic.title for traffic in TRAFFIC},
    "polls": polls.TITLE,
    **{calls.name: calls.title for calls in CALLS},
}
NAMES = tuple(TITLES)


def run(
    names: Sequence[str] = NAMES,
    *,
    count: int = 5,
    seconds: float = 3.0,
    held: int = polls.POLLS,
    assignments: int = ASSIGNMENTS,
    progress: Callable[[str], object] = lambda text: None,
) -> list[Result]:
    """Take the measures named: `count` rounds of `seconds` seconds each, or `held` polls.

    assignments: how many there are in the solution where permissions are checked, at least 40.
    Raises BenchError for an unknown name, or where a measurement cannot be made.
    """
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise BenchError(f"no measure {unknown[0]!r}, there are: {', '.join(NAMES)}")
    results = [rounds.take(traffic, count, seconds, progress) for traffic in TRAFFIC if traffic.name in names]
    if "polls" in names:
        results.append(polls.take(held, progress))
    results += [
        rounds.take_calls(calls, assignments, count, seconds, progress)
        for calls in CALLS
        if calls.name in names
    ]
    return results
