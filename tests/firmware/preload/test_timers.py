"""Timers of a program: alarm, setitimer, timer_create, timerfd."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.firmware.preload.side import Side
from tests.firmware.preload.test_threads import results

Run = Callable[..., list[str]]

BEFORE = """
#include <sys/timerfd.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <fcntl.h>
static int count; static void on(int s) { (void)s; count++; }
static int value, code, overrun; static void info(int s, siginfo_t *i, void *c) { count++;
    value = i->si_value.sival_int; code = i->si_code; }
static void notify(union sigval v) { count += v.sival_int; }
"""
HANDLE = "struct sigaction a = {.sa_handler = on}; sigaction(SIGALRM, &a, 0);"


def test_alarm_sends_its_signal_once_and_says_what_was_left(run: Run) -> None:
    lines = run(
        f"""{HANDLE} SHOW(alarm(10)); sleep(3); SHOW(alarm(20)); SHOW(pause()); SHOW(errno == EINTR); SHOW(count);
            SHOW(alarm(0));
        alarm(5); SHOW(alarm(0)); sleep(60); SHOW(count);""",
        BEFORE,
    )
    assert results(lines) == [
        ("0", "0"), ("7", "3000"), ("-1", "23000"), ("1", "23000"), ("1", "23000"), ("0", "23000"), ("5", "23000"),
        ("1", "83000"),
    ]  # fmt: skip


def test_an_alarm_without_a_handler_ends_the_program(run: Run, side: Side) -> None:
    assert run('alarm(30); printf("%d\\n", 1); pause(); printf("never\\n");') == ["1"]
    assert side.children[0].wait() == -14
    assert side.now == 1_800_000_030 * 10**9


def test_setitimer_repeats_and_getitimer_says_what_is_left(run: Run) -> None:
    lines = run(
        f"""{HANDLE} struct itimerval v = {{{{10, 0}}, {{2, 500000}}}}, w; SHOW(setitimer(ITIMER_REAL, &v, 0));
        for (int i = 0; i < 3; i++) {{ pause(); SHOW(count); }}
        sleep(4); getitimer(ITIMER_REAL, &w); SHOW(w.it_value.tv_sec); SHOW(w.it_interval.tv_sec);
        v = (struct itimerval){{0}}; SHOW(setitimer(ITIMER_REAL, &v, &w)); SHOW(w.it_value.tv_sec); sleep(100);
            SHOW(count);
        v.it_value.tv_usec = 1000000; SHOW(setitimer(ITIMER_REAL, &v, 0)); SHOW(errno == EINVAL);
        ualarm(500000, 0); SHOW(pause());""",
        BEFORE,
    )
    assert results(lines) == [
        ("0", "0"), ("1", "2500"), ("2", "12500"), ("3", "22500"), ("6", "26500"), ("10", "26500"), ("0", "26500"),
        ("6", "26500"), ("3", "126500"), ("-1", "126500"), ("1", "126500"), ("-1", "127000"),
    ]  # fmt: skip


def test_a_timer_sends_a_signal_with_its_value(run: Run) -> None:
    lines = run(
        """
        struct sigaction a = {.sa_sigaction = info, .sa_flags = SA_SIGINFO}; sigaction(SIGRTMIN, &a, 0);
        struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 42};
            timer_t t;
        SHOW(timer_create(CLOCK_MONOTONIC, &e, &t)); struct itimerspec s = {{5, 0}, {60, 0}}, o;
        SHOW(timer_settime(t, 0, &s, 0)); pause(); SHOW(value); SHOW(code == SI_TIMER); pause(); SHOW(count); sleep(2);
        timer_gettime(t, &o); SHOW(o.it_value.tv_sec); SHOW(o.it_interval.tv_sec); SHOW(timer_getoverrun(t));
        clock_gettime(CLOCK_MONOTONIC, &s.it_value); s.it_value.tv_sec += 100; s.it_interval = (struct timespec){0};
        SHOW(timer_settime(t, TIMER_ABSTIME, &s, &o)); SHOW(o.it_value.tv_sec); pause(); SHOW(count); sleep(100);
            SHOW(count);
        SHOW(timer_delete(t)); SHOW(timer_settime(t, 0, &s, 0)); SHOW(errno == EINVAL);
        """,
        BEFORE,
    )
    assert results(lines) == [
        ("0", "0"), ("0", "0"), ("42", "60000"), ("1", "60000"), ("2", "65000"), ("3", "67000"), ("5", "67000"),
        ("0", "67000"), ("0", "67000"), ("3", "67000"), ("3", "167000"), ("3", "267000"), ("0", "267000"),
        ("-1", "267000"), ("1", "267000"),
    ]  # fmt: skip


def test_a_timer_calls_a_function_in_a_thread_or_signals_one(run: Run) -> None:
    lines = run(
        """
        struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify,
            .sigev_value.sival_int = 5}; timer_t t;
        SHOW(timer_create(CLOCK_REALTIME, &e, &t)); struct itimerspec s = {{10, 0}, {10, 0}};
            timer_settime(t, 0, &s, 0);
        sleep(35); SHOW(count); timer_delete(t); sleep(100); SHOW(count);
        signal(SIGUSR1, on); e = (struct sigevent){.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
        e._sigev_un._tid = syscall(SYS_gettid); timer_create(CLOCK_BOOTTIME, &e, &t); timer_settime(t, 0, &s, 0);
            SHOW(pause());
        e = (struct sigevent){.sigev_notify = SIGEV_NONE}; timer_create(CLOCK_REALTIME, &e, &t);
            timer_settime(t, 0, &s, 0); sleep(4);
        timer_gettime(t, &s); SHOW(s.it_value.tv_sec); SHOW(timer_create(CLOCK_PROCESS_CPUTIME_ID, &e, &t));
            SHOW(timer_delete(t));
        """,
        BEFORE,
    )
    assert results(lines) == [
        ("0", "0"), ("15", "35000"), ("15", "135000"), ("-1", "145000"), ("6", "149000"), ("0", "149000"), ("0",
            "149000"),
    ]  # fmt: skip


@pytest.mark.parametrize("clock", ["CLOCK_REALTIME", "CLOCK_MONOTONIC", "CLOCK_BOOTTIME"])
def test_timerfd_is_read_polled_and_repeats(run: Run, clock: str) -> None:
    lines = run(
        f"""
        int fd = timerfd_create({clock}, TFD_CLOEXEC); struct itimerspec s = {{{{60, 0}}, {{5, 0}}}}, o;
            uint64_t n = 0;
        SHOW(timerfd_settime(fd, 0, &s, 0)); SHOW(read(fd, &n, 8)); SHOW(n); timerfd_gettime(fd, &o);
            SHOW(o.it_value.tv_sec);
        struct pollfd p = {{fd, POLLIN, 0}}; SHOW(poll(&p, 1, 59000)); SHOW(poll(&p, 1, 59000));
            SHOW(p.revents == POLLIN);
        sleep(150); read(fd, &n, 8); SHOW(n); // 3 in between
        int ep = epoll_create1(0); struct epoll_event e = {{EPOLLIN}}; epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
        SHOW(epoll_wait(ep, &e, 1, -1)); SHOW(timerfd_settime(fd, 0, &(struct itimerspec){{0}}, &o));
            SHOW(o.it_interval.tv_sec);
        SHOW(poll(&p, 1, 100000)); // neither a count nor a timer
        clock_gettime({clock}, &s.it_value); s.it_value.tv_sec += 9; s.it_interval.tv_sec = 0;
        SHOW(timerfd_settime(fd, TFD_TIMER_ABSTIME, &s, 0)); SHOW(read(fd, &n, 8)); SHOW(n);
        fcntl(fd, F_SETFL, O_NONBLOCK); SHOW(read(fd, &n, 8)); SHOW(errno == EAGAIN);
        s.it_value.tv_nsec = NS; SHOW(timerfd_settime(fd, 0, &s, 0)); SHOW(errno == EINVAL);
        s = (struct itimerspec){{{{1, 0}}, {{1, 0}}}}; timerfd_settime(fd, 0, &s, 0); close(fd);
            SHOW(timerfd_gettime(fd, &o)); sleep(5);
        """,
        BEFORE,
    )
    assert results(lines) == [
        ("0", "0"), ("8", "5000"), ("1", "5000"), ("60", "5000"), ("0", "64000"), ("1", "65000"), ("1", "65000"),
        ("3", "215000"), ("1", "245000"), ("0", "245000"), ("60", "245000"), ("0", "345000"), ("0", "345000"),
        ("8", "354000"), ("1", "354000"), ("-1", "354000"), ("1", "354000"), ("-1", "354000"), ("1", "354000"),
        ("-1", "354000"),
    ]  # fmt: skip


def test_timers_go_on_while_a_thread_waits_for_another(run: Run) -> None:
    """The thread that set the timer waits in a way that has no end; a timer has a wait of its own."""
    lines = run(
        f"""{HANDLE} pthread_t t; struct itimerval v = {{{{5, 0}}, {{5, 0}}}}; setitimer(ITIMER_REAL, &v, 0);
        sigset_t s; sigemptyset(&s); sigaddset(&s, SIGALRM); pthread_create(&t, 0, reads, 0);
            pthread_sigmask(SIG_BLOCK, &s, 0);
        pthread_join(t, 0); SHOW(count);""",
        BEFORE + "static void *reads(void *x) { while (count < 4) pause(); return x; }",
    )
    assert results(lines) == [("4", "20000")]


def test_a_child_has_no_timers_of_its_parent(run: Run) -> None:
    lines = run(
        f"""{HANDLE} alarm(5); if (!fork()) {{ struct itimerval v; getitimer(ITIMER_REAL, &v);
            SHOW(v.it_value.tv_sec); sleep(60);
        SHOW(count); alarm(2); pause(); SHOW(count); exit(0); }} pause(); SHOW(count); while (wait(0) < 0);""",
        BEFORE,
    )
    assert sorted(results(lines)) == [("0", "0"), ("0", "60000"), ("1", "5000"), ("1", "62000")]
