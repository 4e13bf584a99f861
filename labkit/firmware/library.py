"""The preloaded library, built on first use by the system's C compiler."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from labkit.core.errors import LabError

SOURCES = Path(__file__).parent / "preload"
FLAGS = ("-shared", "-fPIC", "-O2", "-std=gnu11", "-D_GNU_SOURCE")
LIBRARIES = ("-ldl", "-lpthread")


def library() -> Path:
    """Return the path of the preloaded library. Raises LabError without a C compiler, or if it cannot be built."""
    sources = sorted(SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labkit"
    built = cache / f"firmware-{os.uname().machine}-{digest}.so"
    if not built.exists():
        _build([each for each in sources if each.suffix == ".c"], built)
    return built


def _build(sources: list[Path], built: Path) -> None:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise LabError(
            "firmware: needs a C compiler, once, to build the library that puts programs on lab time: install gcc "
            "and the C library's headers (apt install gcc libc6-dev)"
        )
    built.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=built.parent)
    os.close(number)
    done = subprocess.run(
        [*compiler.split(), *FLAGS, "-o", name, *map(str, sources), *LIBRARIES], capture_output=True, text=True
    )
    if done.returncode:
        Path(name).unlink()
        first = next(iter(done.stderr.strip().splitlines()), "no message")
        raise LabError(f"firmware: {compiler} cannot build the library that puts programs on lab time: {first}")
    Path(name).chmod(0o755)
    Path(name).replace(built)
