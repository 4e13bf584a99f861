"""Which event loop to run on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Makes the loop that a lab or a fleet runs on; None for asyncio's own.

    uvloop where it is there: it serves faster and needs less memory for each TLS connection. On Windows the loop that
    can watch sockets, as connections of fleets need it.
    """
    if sys.platform == "win32":
        return asyncio.SelectorEventLoop
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
