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


def test_calls_by_number_show_lab_time(run: Run) -> None:
    lines = run(
        """
        struct timespec s = spec(2.5); struct timeval v; SHOW(syscall(SYS_nanosleep, &s, 0));
        SHOW(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &s, 0));
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &s); printf("%ld.%09ld\\n", s.tv_sec, s.tv_nsec);
        syscall(SYS_gettimeofday, &v, 0); printf("%ld.%06ld\\n", v.tv_sec, v.tv_usec);
        SHOW(syscall(SYS_getpid) == getpid()); SHOW(syscall(SYS_clock_settime, CLOCK_REALTIME, &s));
        SHOW(errno == EPERM);
        """,
        "#include <sys/syscall.h>",
    )
    assert lines == [
        "syscall(SYS_nanosleep, &s, 0) 0 at 2500",
        "syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &s, 0) 0 at 5000",
        "1800000005.000000000",
        "1800000005.000000",
        "syscall(SYS_getpid) == getpid() 1 at 5000",
        "syscall(SYS_clock_settime, CLOCK_REALTIME, &s) -1 at 5000",
        "errno == EPERM 1 at 5000",
    ]


def test_what_succeeds_leaves_errno_as_it_was(run: Run) -> None:
    lines = run(
        """
        struct timespec t; char b[9]; int p[2]; pthread_t thread; pthread_mutex_lock(&m); sem_init(&s, 0, 1); pipe(p);
        #define KEEPS(what) errno = 77; what; if (errno != 77) printf("%s %d\\n", #what, errno)
        KEEPS(time(0)); KEEPS(clock_gettime(CLOCK_REALTIME, &t)); KEEPS(sleep(1)); KEEPS(usleep(1));
        KEEPS(poll(0, 0, 5));
        KEEPS(poll(&(struct pollfd){p[0], POLLIN}, 1, 5)); t = in(1); KEEPS(pthread_cond_timedwait(&c, &m, &t));
        KEEPS(sem_wait(&s)); KEEPS(getrandom(b, 8, 0)); KEEPS(write(p[1], b, 8)); KEEPS(read(p[0], b, 8));
        KEEPS(alarm(9));
        KEEPS(pthread_create(&thread, 0, nothing, 0)); KEEPS(pthread_join(thread, 0)); KEEPS(alarm(0));
        KEEPS(close(p[0]));
        KEEPS(if (!fork()) _exit(0)); KEEPS(wait(0)); KEEPS(sched_yield()); puts("done");
        """,
        """
        #include <semaphore.h>
        #include <sched.h>
        #include <sys/random.h>
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
        static sem_t s;
        static void *nothing(void *x) { return x; }
        """,
    )
    assert lines == ["done"]
