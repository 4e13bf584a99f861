"""Real time that programs on lab time take for a day: example firmware in C and in Python, over real TLS."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from labkit.bench.control import BenchError
from labkit.bench.measures import Result
from labkit.lab.lab import Lab
from labkit.settings.notebooks import notebooks_folder

TITLES = {
    "firmware-c": "a lab day of a program in C with libcurl, a write and two long polls a minute, beside: the limit",
    "firmware-python": "a lab day of a program in Python with requests, the same, beside: the limit",
}
MOST = 10.0  # seconds of real time, on two cores
DAYS = 1.0
RESOURCES: dict[str, str | Mapping[str, Any]] = {
    "temperature": "number",
    "setpoint": {"format": "number", "settable": True},
}


def is_possible(name: str) -> bool:
    """Return whether this machine has what the measure takes: Linux, a C compiler, and libcurl or requests."""
    has_library = shutil.which("curl-config") if name == "firmware-c" else find_spec("requests")
    return sys.platform == "linux" and bool(shutil.which("cc")) and bool(has_library)


def measure(name: str, progress: Callable[[str], object], days: float = DAYS) -> Result:
    """Let a program live `days` of lab time. Value: seconds of real time for a day; CPU in the details.

    Raises BenchError where the program cannot be made here.
    """
    if not is_possible(name):
        raise BenchError(f"{name}: needs Linux, a C compiler (cc), and libcurl (curl-config) or requests")
    with TemporaryDirectory() as folder:
        command = _command(name, Path(folder))
        before = _cpu()
        with Lab(seed=7) as lab:
            thermostat = lab.product("thermostat", resources=RESOURCES)
            environment = {"PLATFORM_URL": f"https://{thermostat.domain}"}
            progress(f"{name}: a lab day")
            began = time.perf_counter()
            lab.firmware([*command, "t-001"], identity="t-001", seed=3, env=environment)
            lab.clock.advance(days=days)
            seconds = (time.perf_counter() - began) / days
            requests = len(lab.journal.select("request")) + lab.journal.dropped
        after = _cpu()
    details = {"requests": requests, "cpu_lab_s": after[0] - before[0], "cpu_program_s": after[1] - before[1]}
    unit, ratio = "seconds of real time", MOST / seconds
    return Result(name, TITLES[name], unit, seconds, MOST, ratio, 1.0, ratio >= 1, 1, 0, details)


def _command(name: str, folder: Path) -> list[str]:
    sources = notebooks_folder() / "firmware"
    if name == "firmware-python":
        return [sys.executable, str(sources / "client.py")]
    program = folder / "client"
    made = subprocess.run(
        ["cc", "-O2", "-DMENDED", "-o", program, sources / "client.c", "-lcurl"],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise BenchError(f"{name}: {made.stderr.strip().splitlines()[0]}")
    return [str(program)]


def _cpu() -> tuple[float, float]:
    """Return the CPU seconds, of user and system, of this process and of its children that have ended."""
    own, children = (resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime
