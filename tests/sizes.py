"""Size of tests: small by default, full with LABKIT_SIZE=full."""

import os


def size(small: int, full: int) -> int:
    """Return the number of rounds, requests or examples to run; LABKIT_SIZE is read at the call.

    Raises ValueError if LABKIT_SIZE is neither `small` nor `full`.
    """
    chosen = os.environ.get("LABKIT_SIZE", "small")
    if chosen not in ("small", "full"):
        raise ValueError(f"LABKIT_SIZE is {chosen!r}: want small or full")
    return full if chosen == "full" else small
