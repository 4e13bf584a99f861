"""Programs on lab time for measures: example firmware in C and in Python, and one that only wakes."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from labkit.bench.control import BenchError
from labkit.firmware.conversation import MESSAGE, TIME
from labkit.lab.lab import Lab
from labkit.settings.notebooks import notebooks_folder

NAMES = ("firmware-c", "firmware-python", "firmware-turn")
RESOURCES: dict[str, str | Mapping[str, Any]] = {
    "temperature": "number",
    "setpoint": {"format": "number", "settable": True},
}
EVERY = 30  # seconds between two wakes
WAKES = f"""#include <poll.h>
#include <unistd.h>
int main(void) {{
    int ends[2];
    if (pipe(ends)) return 1;
    for (struct pollfd end = {{ends[0], POLLIN, 0}};;) poll(&end, 1, {EVERY * 1000});
}}
"""


def is_possible(name: str) -> bool:
    """Return whether this machine has what a measure takes; a program: Linux, a C compiler, and libcurl or requests."""
    if name not in NAMES:
        return True
    needed = {"firmware-c": shutil.which("curl-config"), "firmware-python": find_spec("requests")}
    return sys.platform == "linux" and bool(shutil.which("cc")) and bool(needed.get(name, True))


def expect_possible(name: str) -> None:
    """Raise BenchError unless this machine has what the measure takes."""
    if not is_possible(name):
        raise BenchError(f"{name}: needs Linux, a C compiler (cc), and libcurl (curl-config) or requests")


def program(lab: Lab, name: str, folder: Path) -> Callable[[float], dict[str, float]]:
    """Start a program; return a function that lets it live for some seconds of lab time, and returns counts.

    They are `writes`, the number of its requests, or turns of `firmware-turn`, and `turns`. folder: for what is built.
    Raises BenchError where the program cannot be made.
    """
    thermostat = lab.product("thermostat", resources=RESOURCES)
    environment = {"PLATFORM_URL": f"https://{thermostat.domain}"}
    run = lab.firmware([*_command(name, folder), "t-001"], identity="t-001", seed=3, env=environment)

    def live(seconds: float) -> dict[str, float]:
        lab.journal.clear()
        before = run._run.turns
        lab.clock.advance(seconds)
        if lab.journal.dropped:
            raise BenchError(f"{name}: its requests cannot be counted, since the journal is full")
        turns = run._run.turns - before
        return {
            "writes": turns if name == "firmware-turn" else len(lab.journal.select("request")),
            "turns": turns,
        }

    return live


def ping_pong(seconds: float) -> float:
    """Return the CPU microseconds, of this process, of a message to another one and its answer."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    echo = f"import socket; s = socket.socket(fileno={theirs.fileno()})\nwhile m := s.recv({MESSAGE.size}): s.send(m)"
    message, spent, count = MESSAGE.pack(TIME, 0, 0, 0, 0), 0.0, 0
    with subprocess.Popen([sys.executable, "-c", echo], pass_fds=[theirs.fileno()]), ours:
        theirs.close()
        while spent < seconds:
            began = time.process_time()
            for _ in range(100):
                ours.send(message)
                ours.recv(MESSAGE.size)
            spent, count = spent + time.process_time() - began, count + 100
    return spent / count * 1e6


def _command(name: str, folder: Path) -> list[str]:
    sources = notebooks_folder() / "firmware"
    if name == "firmware-python":
        return [sys.executable, str(sources / "client.py")]
    source, built = sources / "client.c", folder / "program"
    if name == "firmware-turn":
        source = folder / "wakes.c"
        source.write_text(WAKES)
    command: list[str | Path] = ["cc", "-O2", "-DMENDED", "-o", built, source]
    command += ["-lcurl"] if name == "firmware-c" else []
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        raise BenchError(f"{name}: {made.stderr.strip().splitlines()[0]}")
    return [str(built)]
