"""All measures by name, and the function that runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec

from labkit.bench import firmware, fleets, floods, on_demand, polls, repeated, rounds, scaling, websockets
from labkit.bench.control import BenchError
from labkit.bench.measures import ASSIGNMENTS, CALLS, POINTS, TRAFFIC, Calls, Result
from labkit.core.extras import check_installed

TITLES = {
    **{traffic.name: traffic.title for traffic in TRAFFIC},
    "polls": polls.TITLE,
    "websockets": websockets.TITLE,
    "floods": floods.TITLE,
    **{calls.name: calls.title for calls in CALLS},
    **fleets.TITLES,
    repeated.NAME: repeated.TITLE,
    on_demand.NAME: on_demand.TITLE,
    scaling.NAME: scaling.TITLE,
}
NAMES = tuple(TITLES)
EVERYDAY = tuple(
    name
    for name in NAMES
    if name != "soak"
    and (name != "fleet" or find_spec("locust"))
    and (name != on_demand.NAME or on_demand.IS_POSSIBLE)
    and firmware.is_possible(name)
)


def run(
    names: Sequence[str] = NAMES,
    *,
    count: int = 5,
    seconds: float = 3.0,
    poll_count: int = polls.POLLS,
    websocket_count: int = websockets.WEBSOCKETS,
    assignments: int = ASSIGNMENTS,
    points: int = POINTS,
    devices: int = fleets.WAITING,
    minutes: float = fleets.MINUTES,
    whole_growth: bool = False,
    sizes: Sequence[int] = repeated.SIZES,
    items: int = scaling.SIZE,
    rows: Sequence[str] = (),
    progress: Callable[[str], object] = lambda text: None,
) -> Iterator[Result]:
    """Run measures and yield each result once it is there.

    They take `count` rounds of `seconds` seconds each, or `poll_count` polls or `websocket_count` websockets.
    assignments: number in the solution in which permissions are checked, at least 40; points: number of stored points
    among which a day is queried, at least 1000; devices: number of waiting devices; minutes: duration of the soak;
    whole_growth: up to a million writes; sizes: devices of the repeated fleets; items: stored items of `scaling`, which
    also measures ten times as many, and yields a result for each operation; rows: parts of the names of the operations
    that it measures, without any: all.
    Raises BenchError for an unknown name, or where a measurement cannot be made; LabError for a missing library.
    """
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise BenchError(f"no measure {unknown[0]!r}, there are: {', '.join(NAMES)}")
    check_installed("bench", "measures take", "psutil")
    if "fleet" in names:  # checked before any other measure takes its time
        check_installed("bench", "fleet: its reference takes", "locust")

    def size(calls: Calls) -> int:
        return points if calls.of_points else assignments

    measures: dict[str, Callable[[], Result]] = {
        **{each.name: partial(rounds.measure, each, count, seconds, progress) for each in TRAFFIC},
        "polls": lambda: polls.measure(poll_count, progress),
        "websockets": lambda: websockets.measure(websocket_count, progress),
        "floods": lambda: floods.measure(progress),
        **{
            each.name: partial(rounds.measure_calls, each, size(each), count, seconds, progress)
            for each in CALLS
        },
        "fleet": lambda: fleets.load(count, seconds, progress),
        "fleet-memory": lambda: fleets.memory(progress, devices),
        "growth": lambda: fleets.growth(progress, whole_growth),
        repeated.NAME: lambda: repeated.measure(sizes, progress),
        on_demand.NAME: lambda: on_demand.measure(progress),
        "soak": lambda: fleets.soak(minutes, progress),
        **{name: partial(fleets.simulated, name, count, seconds, progress) for name in fleets.SIMULATIONS},
    }
    yield from (measure() for name, measure in measures.items() if name in names)
    if scaling.NAME in names:
        yield from scaling.measure(items, rows, progress)
