"""A kernel in a process that a fork server has forked (conformance/fork_server.py)."""

from __future__ import annotations

import gc
import os
import sys
from importlib.util import find_spec

LAUNCHER = str(getattr(find_spec("ipykernel_launcher"), "origin", "ipykernel_launcher.py"))
_THRESHOLD = gc.get_threshold()  # at import, before the server changes it for all its processes


def run(arguments: list[str], _: object = None) -> None:
    """Run ipykernel's application until its end. arguments: of its command line."""
    from ipykernel.kernelapp import launch_new_instance

    gc.set_threshold(*_THRESHOLD)
    if numpy := sys.modules.get("numpy"):  # Python's own random numbers are seeded anew by the fork
        numpy.random.seed()
    # It ends when its parent does; ipykernel has read the environment's word for it before the fork.
    sys.argv = [LAUNCHER, *arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]
    launch_new_instance()
