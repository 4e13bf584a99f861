"""Steps of tests of many parts: files in a folder, a program's run, a command of labkit in this process."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from labkit.cli import main


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """Write texts into files below a folder, by their relative paths; return the folder."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def ran(*command: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and return its status and its output. options: as of `subprocess.run`."""
    usual = {"capture_output": True, "text": True, "check": False}
    return subprocess.run([*map(str, command)], **{**usual, **options})  # noqa: PLW1510 - `usual` has it


def invoked(*arguments: object, **options: Any) -> Result:
    """Run a command of labkit in this process, and return its status and its output. options: of `CliRunner.invoke`."""
    return CliRunner().invoke(main, [*map(str, arguments)], **options)
