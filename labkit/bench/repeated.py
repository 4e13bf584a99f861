"""Memory growth of a process that runs one simulated fleet repeatedly, at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from labkit.bench.control import Answer, BenchError, Child
from labkit.bench.measures import Result
from labkit.bench.polls import check_descriptors

NAME = "repeated-runs"
SIZES = (100, 1_000)  # devices, few enough for daily use
RUNS = 5
# Memory after the first run over that after the last. The second run adds some 14 MiB once (1,000 devices, twelve runs:
# 162, 176, 176, then 0.25 MiB each, the devices' points).
FLAT = 0.85
# The journal's records, few enough for the first run to fill: otherwise the journal's growth would be measured.
RECORDS = 100
TITLE = "runs of a simulated fleet, one write a device, the last's memory beside: the first's"


def measure(sizes: Sequence[int], progress: Callable[[str], object]) -> Result:
    """Measure the memory of a fresh process in MiB after the first and the last of its runs, for each size.

    Also CPU for a write of the last run. Value and reference are those of the largest size; `ratio` is the
    least of all sizes. Raises BenchError where a size is below 1, or the system allows too few open files for
    its connections.
    """
    if not sizes or min(sizes) < 1:
        raise BenchError(f"{NAME}: expected sizes of at least 1 device, not {list(sizes)}")
    check_descriptors(2 * max(sizes))  # both ends of each connection
    first, last, ratios = {}, {}, {}
    details: dict[str, float] = {}
    for size in sorted(set(sizes)):
        runs: list[Answer] = []
        with Child("labkit.bench.simulated", "write", str(size), str(RECORDS), core=0) as process:
            for number in range(1, RUNS + 1):
                runs.append(process.ask("play", writes=size))
                progress(f"{NAME}: {size:,} devices, run {number} of {RUNS}")
        memory = [each["memory"] / 2**20 for each in runs]
        first[size], last[size] = memory[0], memory[-1]
        ratios[size] = memory[0] / memory[-1]
        details |= {
            f"first_mebibytes_{size}": memory[0],
            f"last_mebibytes_{size}": memory[-1],
            f"ratio_{size}": ratios[size],
            f"micros_{size}": runs[-1]["cpu"] / runs[-1]["writes"] * 1e6,
        }
    largest, ratio = max(sizes), min(ratios.values())
    title, unit = f"{RUNS} {TITLE}, {largest:,} devices", "MiB of memory"
    values = last[largest], first[largest]
    return Result.judge(NAME, title, unit, *values, FLAT, details, ratio=ratio, rounds=RUNS)
