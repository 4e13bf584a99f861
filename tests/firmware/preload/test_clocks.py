"""Clocks of a program on lab time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.firmware.preload.side import Side

Run = Callable[..., list[str]]

REALTIME = ("CLOCK_REALTIME", "CLOCK_REALTIME_COARSE", "CLOCK_TAI", "CLOCK_REALTIME_ALARM")
SINCE_BOOT = (
    "CLOCK_MONOTONIC",
    "CLOCK_MONOTONIC_COARSE",
    "CLOCK_MONOTONIC_RAW",
    "CLOCK_BOOTTIME",
    "CLOCK_BOOTTIME_ALARM",
)


@pytest.mark.parametrize(("clocks", "start"), [(REALTIME, 1_800_000_000), (SINCE_BOOT, 1000)])
def test_each_clock_shows_lab_time(run: Run, clocks: tuple[str, ...], start: int) -> None:
    shown = "".join(
        f'clock_gettime({each}, &t); printf("%ld.%09ld\\n", t.tv_sec, t.tv_nsec);' for each in clocks
    )
    lines = run(f"struct timespec t; {shown} t = spec(90061.25); nanosleep(&t, 0); {shown}")
    assert lines == [f"{start}.000000000"] * len(clocks) + [f"{start + 90061}.250000000"] * len(clocks)


def test_each_call_for_the_time_shows_lab_time(run: Run) -> None:
    lines = run(
        """
        usleep(2500000);
        struct timeval v; struct timespec s; struct timeb b; struct timex x = {0}; struct tms tms; struct sysinfo info;
        time_t t;
        printf("%ld\\n", time(&t) == t ? t : 0);
        gettimeofday(&v, 0); printf("%ld.%06ld\\n", v.tv_sec, v.tv_usec);
        printf("%d ", timespec_get(&s, TIME_UTC)); printf("%ld.%09ld\\n", s.tv_sec, s.tv_nsec);
        ftime(&b); printf("%ld.%03d\\n", b.time, b.millitm);
        adjtimex(&x); printf("%ld\\n", x.time.tv_sec);
        printf("%ld\\n", times(&tms) / sysconf(_SC_CLK_TCK));
        sysinfo(&info); printf("%ld\\n", info.uptime);
        """,
        "#include <sys/timeb.h>\n#include <sys/timex.h>\n#include <sys/times.h>\n#include <sys/sysinfo.h>\n"
        "#include <sys/syscall.h>",
    )
    assert lines == [
        "1800000002",
        "1800000002.500000",
        "1 1800000002.500000000",
        "1800000002.500",
        "1800000002",
        "1002",
        "1002",
    ]


def test_a_program_cannot_set_the_time(run: Run) -> None:
    lines = run(
        """
        struct timespec s = {0}; struct timeval v = {0}; struct timex x = {.modes = ADJ_OFFSET};
        SHOW(clock_settime(CLOCK_REALTIME, &s)); SHOW(errno == EPERM);
        SHOW(settimeofday(&v, 0)); SHOW(adjtime(&v, 0)); SHOW(adjtimex(&x)); SHOW(clock_adjtime(CLOCK_REALTIME, &x));
        """,
        "#include <sys/timex.h>",
    )
    assert [each.rsplit(" at ", 1)[0].rsplit(" ", 1)[1] for each in lines] == [
        "-1",
        "1",
        "-1",
        "-1",
        "-1",
        "-1",
    ]


def test_clocks_of_the_processor_and_times_of_files_stay_real(run: Run) -> None:
    lines = run(
        """
        struct timespec s; struct stat st; struct statx sx; char path[] = "/tmp/labkit-XXXXXX";
        for (volatile long i = 0; i < 3000000; i++);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &s); SHOW(s.tv_sec < 5 && s.tv_nsec > 0);
        SHOW(clock() > 0 && clock() < 5 * CLOCKS_PER_SEC);
        int fd = mkstemp(path); fstat(fd, &st); unlink(path); SHOW(st.st_mtime != time(0));
        statx(fd, "", AT_EMPTY_PATH, STATX_MTIME, &sx); SHOW(sx.stx_mtime.tv_sec == st.st_mtime);
        """,
        "#include <sys/stat.h>\n#include <fcntl.h>",
    )
    assert [each.split(" ")[-3] for each in lines] == ["1"] * 4


def test_the_lab_sees_how_often_a_program_asks_the_time(side: Side, run: Run) -> None:
    run("for (int i = 0; i < 5000; i++) time(0);")
    [path] = side.folder.glob("reads.*")
    assert 5000 <= int.from_bytes(path.read_bytes()[:8], "little") < 5010
