"""The process of a lab: its event loop, garbage collection, and the return of freed memory to the system."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the factory of the event loop for a lab or a fleet; None for asyncio's own.

    uvloop where it is installed: it serves faster and needs less memory for each TLS connection. On Windows the
    loop that can watch sockets, as connections of fleets need it.
    """
    if sys.platform == "win32":
        return asyncio.SelectorEventLoop
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def serve_for_long() -> None:
    """Tune the garbage collector for a process that makes few cycles and keeps many objects (the journal).

    Existing objects become permanent and are not scanned again; the others are scanned less often. This
    concerns the whole process and its forks, so only a process of ours calls it, never a Lab in a user's
    notebook.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def return_freed() -> None:
    """Return freed memory to the system, where the C library can (glibc).

    Its allocator keeps most of it in pieces that later work does not fill, so that the process would grow.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
