"""Chance of a program, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.firmware.preload.side import Side

Compile = Callable[..., Path]

DRAWS = """
show("getrandom", getrandom(b, 8, 0)); show("getentropy", getentropy(b, 8) ? 0 : 8);
int fd = open("/dev/urandom", O_RDONLY); show("open", read(fd, b, 8)); close(fd);
FILE *f = fopen("/dev/urandom", "rb"); show("fopen", fread(b, 1, 8, f)); fclose(f);
fd = open("/dev/random", O_RDONLY | O_CLOEXEC); show("random", read(fd, b, 8)); close(fd);
show("syscall", syscall(SYS_getrandom, b, 8, 0));
uint64_t v = arc4random(); memcpy(b, &v, 8); show("arc4random", 8); arc4random_buf(b, 8); show("buf", 8);
int below = 1; for (int i = 0; i < 1000; i++) below &= arc4random_uniform(7) < 7; printf("%d\\n", below);
pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, draws, 0); for (int i = 0; i < 3;
    i++) pthread_join(t[i], 0);
for (int i = 0; i < 2; i++) if (!fork()) { draws(0); exit(0); } else wait(0);
draws(0);
"""
BEFORE = """
#include <sys/random.h>
#include <sys/syscall.h>
#include <fcntl.h>
static unsigned char b[8];
static void show(const char *name, long n) {
    printf("%s %ld ", name, n); for (int i = 0; i < 8; i++) printf("%02x", b[i]); puts(""); memset(b, 0, 8);
}
static void *draws(void *x) { getrandom(b, 8, 0); show("here", 8); return x; }
uint32_t arc4random(void), arc4random_uniform(uint32_t); void arc4random_buf(void *, size_t);
"""


def play(folder: Path, library: Path, program: Path, seed: str | None) -> list[str]:
    side = Side(folder, library)
    try:
        side.start([program], seed=seed)
        return side.live().splitlines()
    finally:
        side.close()


def test_the_same_seed_gives_the_same_chance_and_no_other_does(
    tmp_path: Path, preloaded: Path, compiled: Compile
) -> None:
    program = compiled(DRAWS, BEFORE)
    seeds = ["7", "7", "8", "a text \N{SNOWMAN}", None, None]
    first, again, other, text, real, real_again = (
        play(tmp_path / str(n), preloaded, program, seed) for n, seed in enumerate(seeds)
    )
    assert first == again
    assert [each.split()[:2] for each in first] == [each.split()[:2] for each in real]
    drawn = [line for each in (first, other, text, real, real_again) for line in each if " " in line]
    assert len({each.split()[-1] for each in drawn}) == len(drawn) == 14 * 5
    assert first[8] == "1"


def test_devnull_and_other_files_are_what_they_are(side: Side, compiled: Compile) -> None:
    program = compiled(
        """int fd = open("/dev/urandom", O_RDONLY); close(fd); int same = open("/dev/null", O_RDONLY); SHOW(same == fd);
        SHOW(read(same, b, 8)); SHOW(getentropy(b, 257)); SHOW(errno == EIO);
        fd = open("/tmp", O_TMPFILE | O_RDWR, 0600); SHOW(fd >= 0); SHOW(write(fd, "x", 1));""",
        BEFORE,
    )
    side.start([program], seed="1")
    assert [each.split()[-3] for each in side.live().splitlines()] == ["1", "0", "-1", "1", "1", "1"]
