"""Memory of a process: garbage collection where much is kept, and the return of freed memory to the system."""

from __future__ import annotations

import ctypes
import gc
import sys


def serve_for_long() -> None:
    """Set the collector up for a process whose work makes few cycles and keeps many objects (the journal).

    What is there now stays for good and is looked at no more; the rest is looked at less often. This concerns
    the whole process and those that are forked from it, so only a process of ours calls it, never a Lab in somebody's
    notebook.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def return_freed() -> None:
    """Return memory that was freed to the system, where the C library can (glibc): its allocator keeps most of it in
    pieces that later work does not fill, so that the process would grow.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
