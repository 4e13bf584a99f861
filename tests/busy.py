"""A process that competes for the cores, for tests of exact replay.

It computes in bursts of irregular length: others are held up at other moments in each run, where an endless loop would
take one core and leave the others alone.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PROGRAM = """
import random, time
while True:
    end = time.monotonic() + random.uniform(0, 0.02)
    while time.monotonic() < end:
        pass
    time.sleep(random.uniform(0, 0.03))
"""


@contextmanager
def busy_process() -> Iterator[None]:
    """Run the process inside this context."""
    with subprocess.Popen([sys.executable, "-S", "-c", PROGRAM]) as busy:
        try:
            yield
        finally:
            busy.kill()
