"""Child process that measures calls within itself: `python -m labkit.bench.calls CORE MEASURE SIZE`."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack

from labkit.bench import notifications, remote_control, series, solutions, starts, users
from labkit.bench.control import Answer, prepare, run, serve_commands

VARIANTS = {
    **users.VARIANTS,
    **notifications.VARIANTS,
    **solutions.VARIANTS,
    **remote_control.VARIANTS,
    **series.VARIANTS,
    **starts.VARIANTS,
}


async def serve(measure: str, size: int) -> None:
    """Build the variants of a measure and run them on command until standard input ends."""
    async with AsyncExitStack() as stack:
        variants = await VARIANTS[measure](stack, size)

        async def play(variant: str, seconds: float) -> Answer:
            micros, calls = await variants[variant].micros(seconds)
            return {"micros": micros, "calls": calls}

        await serve_commands({"variants": list(variants)}, {"play": play})


def main() -> None:
    """Run the child process with the arguments of the command line."""
    core, measure, size = sys.argv[1:]
    prepare(int(core))
    run(serve(measure, int(size)))


if __name__ == "__main__":
    main()
