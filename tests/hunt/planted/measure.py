"""Hunts of each bug and each twin at full size: `python -m tests.hunt.planted.measure bugs rough 200`.

`twins rough 1000 lost_token` hunts the twin of one bug, `failing rough 400` counts the plays that fail, one for each
seed: six of 400 are enough for 19 of 20 hunts of 200 plays. `speed 300` compares a hunt with a plain loop over seeds,
and `harms 50` counts the plays in which the faults of tests/hunt/test_planted.py break each promise.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from labkit.hunt import Hunt, Story, hunt, play
from labkit.hunt.plays.levels import fault_source
from tests.hunt.planted import PLANTED, twin_of
from tests.hunt.test_planted import HARMS, is_broken


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201


def hunted(told: Story, level: str, seeds: int) -> tuple[Hunt, float]:
    """Return a hunt and its CPU seconds."""
    began = time.process_time()
    found = hunt(told, seeds, workers=0, level=level, progress=False)
    return found, time.process_time() - began


def bugs(level: str, seeds: int, *names: str) -> None:
    """Say in which play each bug is found, and how small that play became."""
    for name in names or PLANTED:
        found, seconds = hunted(PLANTED[name], level, seeds)
        if not found.failures:
            say(f"{name:22} {level} not found in {found.seeds} plays, {seconds:.1f} CPU s")
        for failure in found.failures.values():
            say(f"{name:22} {level} play {failure.numbers[0] + 1}, {found.seconds:.1f} s;", *failure.lines())
            if failure.smallest is not None:
                say(f"{'':22} faults: {len(failure.smallest.played.faults)}")


def twins(level: str, seeds: int, *names: str) -> None:
    """Say what breaks in each twin."""
    for name in names or PLANTED:
        found, seconds = hunted(twin_of(name), level, seeds)
        states = dict(next(iter(found.promises.values())))
        say(
            f"{name:22} {level} {found.seeds} plays, {seconds:.1f} CPU s, {sum(found.faults.values())} faults,"
            f" {states}"
        )
        for failure in found.failures.values():
            say(f"{'':22}", *failure.lines())


def failing(level: str, seeds: int, *names: str) -> None:
    """Say how many plays break the promise of each bug, without cutting down."""
    for name in names or PLANTED:
        source = fault_source(level, PLANTED[name], {})
        began = time.process_time()
        plays = [play(PLANTED[name], seed, level=source, check=False) for seed in range(seeds)]
        broken = [each.seed for each in plays if any(one.state == "broken" for one in each.verdicts)]
        errors = sum(each.error is not None for each in plays)
        seconds = time.process_time() - began
        say(
            f"{name:22} {level} {len(broken)} of {seeds}, first {broken[:1]}, {errors} errors, {seconds:.1f} CPU s"
        )


def speed(plays: int, rounds: int = 3) -> None:
    """Say how many plays a CPU second a hunt makes, in comparison with a plain loop over seeds."""
    told = twin_of("lost_token")
    source = fault_source("rough", told, {})

    def loop() -> None:
        for seed in range(plays):
            play(told, seed, level=source, check=False)

    def hunt_all() -> None:
        hunt(told, plays, workers=0, level=source, progress=False, stop="never")

    for number in range(rounds):
        taken = {each.__name__: cpu(each) for each in (loop, hunt_all)}
        ratio = taken["loop"] / taken["hunt_all"]
        say(
            f"round {number + 1}: loop {taken['loop']:.2f} s, hunt {taken['hunt_all']:.2f} s, ratio {ratio:.3f}"
        )


def cpu(function: Callable[[], None]) -> float:
    """Return the CPU seconds of a call."""
    began = time.process_time()
    function()
    return time.process_time() - began


def harms(seeds: int) -> None:
    """Say how many seeds break each promise under each fault of the tests."""
    for name, (breaking, others) in HARMS.items():
        for harm in (*breaking, *others):
            counts = [
                sum(is_broken(name, harm, seed, mended=mended) for seed in range(seeds))
                for mended in (False, True)
            ]
            say(f"{name:22} {harm.__name__:16} bug {counts[0]:4} twin {counts[1]:4} of {seeds}")


def main() -> None:
    match sys.argv[1:]:
        case ["bugs", level, seeds, *names]:
            bugs(level, int(seeds), *names)
        case ["twins", level, seeds, *names]:
            twins(level, int(seeds), *names)
        case ["failing", level, seeds, *names]:
            failing(level, int(seeds), *names)
        case ["speed", plays]:
            speed(int(plays))
        case ["harms", seeds]:
            harms(int(seeds))
        case _:
            sys.exit("expected bugs, twins or failing with a level and a number of seeds, speed, or harms")


if __name__ == "__main__":
    main()
