"""Signals of a program: handlers, what they interrupt, and waits for signals."""

from __future__ import annotations

import signal
from collections.abc import Callable

from tests.firmware.preload.side import Side
from tests.firmware.preload.test_threads import results

Run = Callable[..., list[str]]


def test_waits_for_signals_end_by_time_or_by_the_signal(run: Run) -> None:
    lines = run(
        """
        sigset_t s; sigemptyset(&s); sigaddset(&s, SIGALRM); sigaddset(&s, SIGUSR1); sigprocmask(SIG_BLOCK, &s, 0);
        struct timespec t = spec(5); siginfo_t i; int n;
        SHOW(sigtimedwait(&s, &i, &t)); SHOW(errno == EAGAIN); alarm(3); SHOW(sigtimedwait(&s, &i, &t) == SIGALRM);
        alarm(3); SHOW(sigwait(&s, &n)); SHOW(n == SIGALRM); alarm(3); SHOW(sigwaitinfo(&s, &i) == SIGALRM);
        kill(getpid(), SIGUSR1); SHOW(sigwaitinfo(&s, 0) == SIGUSR1); t = spec(0); SHOW(sigtimedwait(&s, &i, &t));
        t.tv_nsec = NS; SHOW(sigtimedwait(&s, &i, &t)); SHOW(errno == EINVAL);
        """
    )
    assert results(lines) == [
        ("-1", "5000"), ("1", "5000"), ("1", "8000"), ("0", "11000"), ("1", "11000"), ("1", "14000"), ("1", "14000"),
        ("-1", "14000"), ("-1", "14000"), ("1", "14000"),
    ]  # fmt: skip


def test_sigsuspend_lets_a_signal_in(run: Run) -> None:
    lines = run(
        """sigset_t all, none; sigfillset(&all); sigemptyset(&none); sigprocmask(SIG_SETMASK, &all, 0);
            signal(SIGALRM, on);
        alarm(4); sleep(9); SHOW(count); SHOW(sigsuspend(&none)); SHOW(count); SHOW(errno == EINTR);""",
        "static int count; static void on(int s) { (void)s; count++; }",
    )
    assert results(lines) == [("0", "9000"), ("-1", "9000"), ("1", "9000"), ("1", "9000")]


def test_a_handler_is_shown_as_it_was_set(run: Run) -> None:
    lines = run(
        """
        struct sigaction a = {.sa_handler = one, .sa_flags = SA_RESTART}, o; sigaction(SIGUSR1, &a, 0);
        SHOW(sigaction(SIGUSR1, 0, &o)); SHOW(o.sa_handler == one); SHOW(o.sa_flags & SA_RESTART ? 1 : 0);
        SHOW(signal(SIGUSR1, two) == one); SHOW(signal(SIGUSR1, SIG_IGN) == two);
            SHOW(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
        SHOW(sigaction(SIGKILL, &a, 0)); SHOW(errno == EINVAL); SHOW(signal(SIGUSR1, one) == SIG_DFL);
            sigaction(SIGUSR1, 0, &o);
        sigaction(SIGUSR2, &o, 0); raise(SIGUSR2); SHOW(count);
        """,
        "static int count; static void one(int s) { count += s; } static void two(int s) { (void)s; }",
    )
    assert [each for each, _ in results(lines)] == [
        "0",
        "1",
        "1",
        "1",
        "1",
        "1",
        "-1",
        "1",
        "1",
        str(int(signal.SIGUSR2)),
    ]


def test_a_handler_may_wait_itself_and_may_leave_by_a_jump(run: Run) -> None:
    lines = run(
        """
        sigaction(SIGALRM, &(struct sigaction){.sa_handler = waits}, 0); alarm(2); SHOW(sleep(10)); SHOW(count);
        signal(SIGALRM, jumps); alarm(2); if (!sigsetjmp(place, 1)) sleep(10); SHOW(count); SHOW(sleep(1));
        """,
        "#include <setjmp.h>\nstatic int count; static sigjmp_buf place;"
        "static void waits(int s) { sleep(3); count++; } static void jumps(int s) { count++; siglongjmp(place, 1); }",
    )
    assert results(lines) == [("8", "5000"), ("1", "5000"), ("2", "7000"), ("0", "8000")]


def test_a_stop_in_between_ends_no_wait(run: Run) -> None:
    lines = run(
        """pid_t p = fork(); if (!p) { SHOW(sleep(10)); exit(0); } sleep(2); kill(p, SIGSTOP); sleep(3); kill(p,
            SIGCONT);
        int status; waitpid(p, &status, 0); SHOW(WIFEXITED(status));"""
    )
    assert results(lines) == [("0", "10000"), ("1", "10000")]


def test_a_signal_from_outside_comes_while_the_program_waits(run: Run, side: Side) -> None:
    side.at(5, lambda: side.children[0].send_signal(signal.SIGTERM))
    lines = run("signal(SIGTERM, on); SHOW(sleep(60));", "static void on(int s) { (void)s; }")
    assert results(lines) == [("55", "5000")]
