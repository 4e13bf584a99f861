"""Sleeps of a program on lab time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.firmware.preload.side import Side

Run = Callable[..., list[str]]


def test_each_sleep_takes_its_lab_time(run: Run) -> None:
    lines = run(
        """
        struct timespec t = spec(0.5);
        SHOW(sleep(3600)); SHOW(usleep(250000)); SHOW(nanosleep(&t, 0)); SHOW(thrd_sleep(&t, 0));
        SHOW(poll(0, 0, 1000)); SHOW(select(0, 0, 0, 0, &(struct timeval){1, 500000}));
        """,
        "#include <threads.h>\n#include <sys/select.h>",
    )
    assert lines == [
        "sleep(3600) 0 at 3600000",
        "usleep(250000) 0 at 3600250",
        "nanosleep(&t, 0) 0 at 3600750",
        "thrd_sleep(&t, 0) 0 at 3601250",
        "poll(0, 0, 1000) 0 at 3602250",
        "select(0, 0, 0, 0, &(struct timeval){1, 500000}) 0 at 3603750",
    ]


@pytest.mark.parametrize("clock", ["CLOCK_REALTIME", "CLOCK_MONOTONIC", "CLOCK_BOOTTIME", "CLOCK_TAI"])
def test_a_sleep_of_each_clock_is_relative_or_absolute(run: Run, clock: str) -> None:
    lines = run(
        f"""
        struct timespec t = spec(10);
        SHOW(clock_nanosleep({clock}, 0, &t, 0));
        clock_gettime({clock}, &t); t.tv_sec += 86400;
        SHOW(clock_nanosleep({clock}, TIMER_ABSTIME, &t, 0));
        t.tv_sec -= 5;
        SHOW(clock_nanosleep({clock}, TIMER_ABSTIME, &t, 0)); // has passed
        """
    )
    assert [each.split(") ")[-1] for each in lines] == ["0 at 10000", "0 at 86410000", "0 at 86410000"]


def test_a_sleep_refuses_what_is_no_time_and_ends_at_once_if_it_is_0(run: Run, side: Side) -> None:
    lines = run(
        """
        struct timespec t = {1, 1000000000}, n = {-1, 0}, z = {0, 0};
        SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0) == EINVAL); SHOW(nanosleep(&n, 0)); SHOW(errno == EINVAL);
        SHOW(nanosleep(&z, 0)); SHOW(sleep(0));
        """
    )
    assert [each.split(" ")[-3:] for each in lines] == [
        [each, "at", "0"] for each in ("1", "-1", "1", "0", "0")
    ]
    assert side.waits == ["start"]


def test_a_sleep_for_ever_is_a_wait_without_an_end(run: Run, side: Side) -> None:
    lines = run('struct timespec t = {INT64_MAX, 0}; puts("sleeps"); nanosleep(&t, 0);', until=900_000)
    assert lines == ["sleeps"]
    assert [each.when for each in side.threads if each.waits] == [2**63 - 1]


def test_a_signal_ends_a_sleep_and_what_was_left_is_exact(run: Run) -> None:
    lines = run(
        """
        signal(SIGALRM, on); // with SA_RESTART: a sleep ends all the same
        struct timespec t = spec(10), left;
        alarm(3); SHOW(nanosleep(&t, &left)); SHOW(errno == EINTR); printf("%ld.%09ld\\n", left.tv_sec, left.tv_nsec);
        alarm(3); SHOW(sleep(10)); alarm(3);
        SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &left) == EINTR);
        alarm(3); SHOW(usleep(9000000)); alarm(3); SHOW(poll(0, 0, 9000)); SHOW(errno == EINTR);
        """,
        "static void on(int s) { (void)s; }",
    )
    assert [each.rsplit(" ", 3)[-3:] for each in lines if " at " in each] == [
        ["-1", "at", "3000"],
        ["1", "at", "3000"],
        ["7", "at", "6000"],
        ["1", "at", "9000"],
        ["-1", "at", "12000"],
        ["-1", "at", "15000"],
        ["1", "at", "15000"],
    ]
    assert lines[2] == "7.000000000"


def test_time_stands_while_a_program_runs(run: Run) -> None:
    lines = run("for (volatile long i = 0; i < 100000000; i++); SHOW(time(0) - START);")
    assert lines == ["time(0) - START 0 at 0"]
