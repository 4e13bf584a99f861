"""Steps of tests of exact replay: a process that competes for the cores, late reads, the same story elsewhere."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labkit.fleet.transport import Transport

# It computes in bursts of irregular length: others are held up at other moments in each run, where an endless loop
# would take one core and leave the others alone.
BUSY = """
import random, time
while True:
    end = time.monotonic() + random.uniform(0, 0.02)
    while time.monotonic() < end:
        pass
    time.sleep(random.uniform(0, 0.03))
"""


@contextmanager
def busy_process() -> Iterator[None]:
    """Run a process that competes for the cores inside this context."""
    with subprocess.Popen([sys.executable, "-S", "-c", BUSY]) as busy:
        try:
            yield
        finally:
            busy.kill()


def late_reads(chance: random.Random) -> Callable[[Transport], None]:
    """Return a replacement of `Transport._readable` that is up to 4 ms late three times of ten."""
    read = Transport._readable

    def late(self: Transport) -> None:
        if chance.random() >= 0.3:
            read(self)
            return
        self.pause_reading()
        self._loop.call_later(chance.random() * 0.004, self.resume_reading)

    return late


@contextmanager
def elsewhere(module: str, *arguments: object) -> Iterator[Callable[[], Any]]:
    """Run a module in a process beside this one. Provides a function that awaits its end, and returns what it printed.

    It prints JSON.
    """
    command = [sys.executable, "-m", module, *map(str, arguments)]
    folder = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:

        def printed() -> Any:
            text, _ = process.communicate()
            assert process.returncode == 0
            return json.loads(text)

        yield printed
