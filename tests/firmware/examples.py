"""Programs of the folder notebooks/firmware, as tests start them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from labkit.settings.notebooks import notebooks_folder

FOLDER = notebooks_folder() / "firmware"
RESOURCES: dict[str, Any] = {"temperature": "number", "setpoint": {"format": "number", "settable": True}}
NAMES = ("c", "python", "node")


def compiled(folder: Path, *options: str) -> Path:
    """Compile the C client into a folder, with each warning as an error, and return the program."""
    program = folder / "client"
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *options]
    subprocess.run([*command, "-o", program, FOLDER / "client.c", "-lcurl"], check=True)
    return program


def command(name: str, folder: Path) -> list[str]:
    """Return the command line of an example without its arguments. folder: for what is compiled."""
    if name == "c":
        return [str(compiled(folder, "-DMENDED"))]
    if name == "python":
        return [sys.executable, str(FOLDER / "client.py")]
    return [shutil.which("node") or "node", str(FOLDER / "client.mjs")]
