"""The preloaded library: part of the installation, or built once by the system's C compiler."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from labkit.core.errors import LabError

SOURCES = Path(__file__).parent / "preload"
FLAGS = (
    "-std=c11 -D_GNU_SOURCE -U_FORTIFY_SOURCE -O2 -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec "
    "-fexceptions -Wl,-z,now"
).split()
LIBRARIES = ("-ldl", "-lpthread")  # part of the C library since glibc 2.34


def library() -> Path:
    """Return the path of the preloaded library for this machine. Builds it on first use, which takes a few seconds.

    A built one is kept in the cache folder (`XDG_CACHE_HOME`, else `~/.cache`). The compiler is `CC`, else `cc`. Raises
    LabError on other systems than Linux with the GNU C library, without a compiler, and if it cannot be built.
    """
    if sys.platform != "linux":
        raise LabError("firmware: programs on lab time need Linux; all else of labkit works here, too")
    machine, digest = platform.machine(), _digest()
    # One that is built here may not load with an older C library: a home folder can be that of several containers.
    built = _cache() / f"firmware-{machine}-{_c_library()}-{digest}.so"
    for path in (SOURCES / f"firmware-{machine}-{digest}.so", built):
        if path.is_file():
            return path
    _compiler()  # before a folder is made
    return _build(built)


def build(target: Path, *, options: tuple[str, ...] = ()) -> Path:
    """Compile the library, and return its path.

    target: path of the result; options: more options of the compiler. Raises LabError without a compiler, and if the
    library cannot be built.
    """
    compiler = _compiler()
    command = [
        *compiler,
        *FLAGS,
        *options,
        "-o",
        str(target),
        *map(str, sorted(SOURCES.glob("*.c"))),
        *LIBRARIES,
    ]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = next(
            (each for each in lines if "error" in each), next(iter(lines), f"exit code {done.returncode}")
        )
        raise LabError(
            f"firmware: {compiler[0]} cannot build the library that puts programs on lab time: {reason}"
        )
    return target


def _digest() -> str:
    """Return what tells one build from another: the sources, and how they are compiled."""
    digest = hashlib.sha256(" ".join((*FLAGS, *LIBRARIES)).encode())
    for each in sorted(SOURCES.glob("*.[ch]")):
        digest.update(each.name.encode() + b"\0" + each.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _c_library() -> str:
    """Return name and version of the C library. Raises LabError if it is not the GNU one."""
    try:
        version = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        version = ""
    if not version.startswith("glibc "):
        raise LabError(
            "firmware: programs on lab time need Linux with the GNU C library (glibc), which this system lacks"
        )
    return version.replace(" ", "-")


def _cache() -> Path:
    # platformdirs is no dependency of labkit itself, and knows nothing more of Linux, the only system meant here.
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "labkit"


def _compiler() -> list[str]:
    try:
        command = shlex.split(os.environ.get("CC", "")) or ["cc"]
    except ValueError as error:
        raise LabError(f"firmware: the variable CC is no command: {error}") from None
    if shutil.which(command[0]) is None:
        raise LabError(
            f"firmware: there is no C compiler {command[0]!r}, which builds once the library that puts programs on lab "
            "time: install one (apt install gcc libc6-dev), or set CC"
        )
    return command


def _build(target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A folder of its own: another process may build at the same time, and sees a whole file or none.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="firmware-") as folder:
            build(Path(folder) / target.name).replace(target)
    except OSError as error:
        raise LabError(
            f"firmware: cannot keep the library that puts programs on lab time in {target.parent}: {error.strerror}; "
            "set XDG_CACHE_HOME to a folder that can be written"
        ) from None
    return target
