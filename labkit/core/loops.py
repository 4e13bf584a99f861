"""Choice of the event loop."""

from __future__ import annotations

import asyncio
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
