"""Programs that the tests start: a device in C with libcurl, one in Python with requests, and small ones."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from pathlib import Path

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
