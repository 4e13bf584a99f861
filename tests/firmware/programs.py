"""Programs that the tests start: devices in C with libcurl and in Python, small ones, those of notebooks/firmware."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit import FirmwareRun
from labkit.settings.notebooks import notebooks_folder

FOLDER = Path(__file__).parent / "clients"
PYTHON = [sys.executable, str(FOLDER / "device.py")]


@functools.cache
def built(name: str, *options: str) -> str:
    """Return the path of a program, compiled from `clients/NAME.c`. options: of the compiler, after the source."""
    folder = Path(tempfile.mkdtemp(prefix="labkit-test-"))
    target = folder / name
    source = FOLDER / f"{name}.c"
    subprocess.run(["cc", "-O1", "-o", target, source, *options], check=True, capture_output=True, text=True)
    return str(target)


def device_in_c() -> list[str]:
    """Return the command of the device in C."""
    return [built("device", "-lcurl")]


def python(code: str) -> list[str]:
    """Return the command that runs code in Python."""
    return [sys.executable, "-c", code]


def pid_of(run: FirmwareRun) -> int:
    """Return the process id of a program that runs."""
    assert run.pid is not None
    return run.pid


EXAMPLES = notebooks_folder() / "firmware"
RESOURCES: dict[str, str | Mapping[str, Any]] = {
    "temperature": "number",
    "setpoint": {"format": "number", "settable": True},
}
NAMES = ("c", "python", "node")


def compiled(folder: Path, *options: str) -> Path:
    """Compile the C client into a folder, with each warning as an error, and return the program."""
    program = folder / "client"
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *options]
    subprocess.run([*command, "-o", program, EXAMPLES / "client.c", "-lcurl"], check=True)
    return program


def example(name: str, folder: Path) -> list[str]:
    """Return the command line of an example without its arguments. folder: for what is compiled."""
    if name == "c":
        return [str(compiled(folder, "-DMENDED"))]
    if name == "python":
        return [sys.executable, str(EXAMPLES / "client.py")]
    return [shutil.which("node") or "node", str(EXAMPLES / "client.mjs")]
