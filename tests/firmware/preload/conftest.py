"""Fixtures of the preloaded library: programs in C, compiled here, under a tiny lab side."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from labkit.firmware.library import build, library
from tests.firmware.preload.side import Side
from tests.rig import ran
from tests.sizes import size

if sys.platform != "linux":
    pytest.skip("programs on lab time need Linux", allow_module_level=True)

HEAD = """
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define NS 1000000000LL
#define START 1800000000LL
static inline struct timespec in(double s) {
    struct timespec t; clock_gettime(CLOCK_REALTIME, &t);
    long long n = t.tv_sec * NS + t.tv_nsec + (long long)(s * NS);
    return (struct timespec){n / NS, n % NS};
}
static inline struct timespec spec(double s) {
    return (struct timespec){(time_t)s, (long)((s - (time_t)s) * NS + 0.5)};
}
/* Lab time in milliseconds since the start. */
static inline long long ms(void) {
    struct timespec t; clock_gettime(CLOCK_REALTIME, &t);
    return (t.tv_sec - START) * 1000 + t.tv_nsec / 1000000;
}
#define SHOW(...) do { \\
    long long shown_ = (long long)(__VA_ARGS__); printf("%s %lld at %lld\\n", #__VA_ARGS__, shown_, ms()); \\
} while (0)
"""


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compile the body of a C program's `main`, with what stands before it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("programs")
    count = 0

    def compile_program(body: str, before: str = "", options: tuple[str, ...] = ()) -> Path:
        nonlocal count
        count += 1
        source = folder / f"program{count}.c"
        source.write_text(
            f"{HEAD}{before}\nint main(int argc, char **argv) {{ (void)argc; (void)argv;\n{body}\nreturn 0; }}\n"
        )
        target = folder / f"program{count}"
        command = [
            compiler,
            "-D_GNU_SOURCE",
            "-O1",
            "-g",
            "-w",
            "-pthread",
            str(source),
            "-o",
            str(target),
            *options,
        ]
        subprocess.run(command, check=True)
        return target

    return compile_program


@pytest.fixture(scope="session")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, built once; at full size with the checks of memory and of undefined behaviour."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    checker = ran("cc", "-print-file-name=libasan.so", check=True)
    checks = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    if not size(False, True) or not Path(checker.stdout.strip()).is_absolute():
        return library()
    Side.before = (checker.stdout.strip(),)
    return build(tmp_path_factory.mktemp("library") / "checked.so", options=checks)


@pytest.fixture
def side(tmp_path: Path, preloaded: Path) -> Iterator[Side]:
    """The lab's side, at its start."""
    side = Side(tmp_path / "lab", preloaded)
    yield side
    side.close()


@pytest.fixture
def run(side: Side, compiled: Callable[..., Path]) -> Callable[..., list[str]]:
    """Compile a program, let it live to its end, and return the lines that it printed."""

    def run_program(
        body: str, before: str = "", *, seed: str | None = "1", until: float = 1_000_000
    ) -> list[str]:
        side.start([compiled(body, before)], seed=seed)
        return side.live(until).splitlines()

    return run_program
