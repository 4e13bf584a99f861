"""Size of tests (small by default, full with LABKIT_SIZE=full), and the time that a machine may take for them."""

import os
import time

LOOP = 0.02  # seconds of CPU time that a quick machine takes for 600,000 turns of an empty loop


def size(small: int, full: int) -> int:
    """Return the number of rounds, requests or examples to run; LABKIT_SIZE is read at the call.

    Raises ValueError if LABKIT_SIZE is neither `small` nor `full`.
    """
    chosen = os.environ.get("LABKIT_SIZE", "small")
    if chosen not in ("small", "full"):
        raise ValueError(f"LABKIT_SIZE is {chosen!r}: want small or full")
    return full if chosen == "full" else small


def cpu_seconds(quick: float) -> float:
    """Return the CPU time that this machine, as busy as it is, takes for the work of `quick` seconds of a quick one."""
    loops = []
    for _ in range(3):
        began = time.thread_time()
        for _ in range(600_000):
            pass
        loops.append(time.thread_time() - began)
    return quick * max(1, min(loops) / LOOP)
