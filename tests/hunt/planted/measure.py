"""Counts of the plays in which each bug, and each twin, breaks its promise: `python -m tests.hunt.planted.measure`."""

from __future__ import annotations

import sys

from tests.hunt.planted import PLANTED
from tests.hunt.test_planted import HARMS, played


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    for name, (breaking, others) in HARMS.items():
        for harm in (*breaking, *others):
            counts = [
                sum(
                    played(PLANTED[name], harm, seed, mended=mended).error is not None
                    for seed in range(seeds)
                )
                for mended in (False, True)
            ]
            print(f"{name:22} {harm.__name__:16} bug {counts[0]:4} twin {counts[1]:4} of {seeds}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
