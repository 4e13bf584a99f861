"""The preloaded library: part of the installation, or built once by the system's C compiler.

A wheel has one for each of `MACHINES` (`hatch_build.py`), in the folder of the sources.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from labkit.core.errors import LabError

SOURCES = Path(__file__).parent / "preload"
FLAGS = (
    "-std=c11 -D_GNU_SOURCE -U_FORTIFY_SOURCE -O2 -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec "
    "-fexceptions -Wl,-z,now"
).split()
MACHINES = ("x86_64", "aarch64")  # of the libraries in a wheel
C_LIBRARY = re.compile(rb"\0GLIBC_(\d+)\.(\d+)")  # a version that a built library needs
LIBRARIES = ("-ldl", "-lpthread")  # part of the C library since glibc 2.34


def library() -> Path:
    """Return the path of the preloaded library for this machine. Builds it on first use, which takes a few seconds.

    A built one is kept in the cache folder (`XDG_CACHE_HOME`, else `~/.cache`). The compiler is `CC`, else `cc`. Raises
    LabError on other systems than Linux with the GNU C library, without a compiler, and if it cannot be built.
    """
    if sys.platform != "linux":
        raise LabError("firmware: programs on lab time need Linux; all else of labkit works here, too")
    version = _c_library()
    # One that is built here may not load with an older C library: a home folder can be that of several containers.
    built = _cache() / _name(platform.machine(), version)
    for path in (_installed(version), built):
        if path is not None and path.is_file():
            return path
    compiler_of(platform.machine())  # before a folder is made
    return _build(built)


def build(target: Path, *, compiler: Sequence[str] = (), options: Sequence[str] = ()) -> Path:
    """Compile the library, and return its path.

    target: path of the result; compiler: command, by default that of this machine; options: more options of the
    compiler. Raises LabError without a compiler, and if the library cannot be built.
    """
    compiler = list(compiler) or compiler_of(platform.machine())
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


def build_for(machine: str, folder: Path) -> Path:
    """Compile the library for a wheel into a folder, and return its path. Raises LabError as `build`.

    machine: one of MACHINES. The name of the file says which version of the C library it needs at least.
    """
    built = build(folder / machine, compiler=compiler_of(machine), options=["-s"])
    needs = max((int(major), int(minor)) for major, minor in C_LIBRARY.findall(built.read_bytes()))
    return built.replace(folder / _name(machine, needs))


def _name(machine: str, version: tuple[int, int]) -> str:
    """Return the file name of a library. version: of the C library, which the digest does not tell."""
    return f"firmware-{machine}-glibc-{version[0]}.{version[1]}-{_digest()}.so"


def _installed(version: tuple[int, int]) -> Path | None:
    """Return the library of the installation for this machine, None if there is none that its C library can load."""
    for path in SOURCES.glob(f"firmware-{platform.machine()}-glibc-*-{_digest()}.so"):
        major, minor = path.name.split("-glibc-")[1].split("-")[0].split(".")
        if (int(major), int(minor)) <= version:
            return path
    return None


def _digest() -> str:
    """Return what tells one build from another: the sources, and how they are compiled."""
    digest = hashlib.sha256(" ".join((*FLAGS, *LIBRARIES)).encode())
    for each in sorted(SOURCES.glob("*.[ch]")):
        digest.update(each.name.encode() + b"\0" + each.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _c_library() -> tuple[int, int]:
    """Return the version of the C library. Raises LabError if it is not the GNU one."""
    try:
        version = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        version = ""
    found = re.match(r"glibc (\d+)\.(\d+)", version)
    if found is None:
        raise LabError(
            "firmware: programs on lab time need Linux with the GNU C library (glibc), which this system lacks"
        )
    return int(found[1]), int(found[2])


def _cache() -> Path:
    # platformdirs is no dependency of labkit itself, and knows nothing more of Linux, the only system meant here.
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache") / "labkit"


def compiler_of(machine: str) -> list[str]:
    """Return the command that compiles for a machine. Raises LabError if there is none.

    For this machine it is `CC`, else `cc`; for another one that of its name, as `aarch64-linux-gnu-gcc`.
    """
    if machine != platform.machine():
        compiler = f"{machine}-linux-gnu-gcc"
        if shutil.which(compiler) is None:
            raise LabError(
                f"firmware: there is no C compiler {compiler!r}, which builds the library for {machine}"
            )
        return [compiler]
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
