"""Waits of a program for descriptors: they end by lab time, or when the lab asks."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.firmware.preload.side import Side

Run = Callable[..., list[str]]
Compile = Callable[..., Path]

SELECT = "#include <sys/select.h>\n#include <sys/epoll.h>\n"
WAITS = {
    "poll": "poll(&p, 1, MS)",
    "ppoll": "ppoll(&p, 1, MS < 0 ? 0 : &t, 0)",
    "select": "select(1, &set, 0, 0, MS < 0 ? 0 : &v)",
    "pselect": "pselect(1, &set, 0, 0, MS < 0 ? 0 : &t, 0)",
    "epoll_wait": "epoll_wait(ep, &e, 1, MS)",
    "epoll_pwait": "epoll_pwait(ep, &e, 1, MS, 0)",
    "epoll_pwait2": "epoll_pwait2(ep, &e, 1, MS < 0 ? 0 : &t, 0)",
    "__poll_chk": "__poll_chk(&p, 1, MS, sizeof p)",
    "__ppoll_chk": "__ppoll_chk(&p, 1, MS < 0 ? 0 : &t, 0, sizeof p)",
    "__poll": "__poll(&p, 1, MS)",
    "__select": "__select(1, &set, 0, 0, MS < 0 ? 0 : &v)",
    "syscall": "syscall(SYS_ppoll, &p, 1, MS < 0 ? 0 : &t, 0, 8)",
}
BEFORE = SELECT + (
    "#include <sys/syscall.h>\n"
    "int __poll_chk(struct pollfd *, nfds_t, int, size_t); int __poll(struct pollfd *, nfds_t, int);\n"
    "int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);\n"
    "int __select(int, fd_set *, fd_set *, fd_set *, struct timeval *);\n"
)
SET = """
struct pollfd p = {0, POLLIN, 0}; struct timespec t = spec(60); struct timeval v = {60, 0}; fd_set set; FD_ZERO(&set);
FD_SET(0, &set); struct epoll_event e = {.events = EPOLLIN}; int ep = epoll_create1(0);
    epoll_ctl(ep, EPOLL_CTL_ADD, 0, &e);
#define MS %s
"""


@pytest.mark.parametrize("name", list(WAITS))
@pytest.mark.parametrize(("ms", "shown"), [("60000", "0 at 60000"), ("0", "0 at 0")])
def test_a_wait_ends_at_its_lab_time(run: Run, name: str, ms: str, shown: str) -> None:
    setup = SET % ms if ms != "0" else SET.replace("spec(60)", "spec(0)").replace("{60, 0}", "{0, 0}") % ms
    lines = run(f"{setup} int r = {WAITS[name]}; SHOW(r);", BEFORE)
    assert lines == [f"r {shown}"]


@pytest.mark.parametrize("name", list(WAITS))
@pytest.mark.parametrize("ms", ["60000", "-1"])
def test_a_wait_ends_when_the_lab_asks_and_something_is_there(
    side: Side, compiled: Compile, name: str, ms: str
) -> None:
    program = side.start(
        [compiled(f"{SET % ms} int r = {WAITS[name]}; char c; SHOW(r); read(0, &c, 1); SHOW(c);", BEFORE)]
    )
    assert program.stdin
    side.at(7.5, lambda: program.stdin and (program.stdin.write(b"x"), program.stdin.flush()))
    assert side.live().splitlines() == ["r 1 at 7500", "c 120 at 7500"]


def test_select_writes_back_what_was_left_and_empties_the_sets(side: Side, compiled: Compile) -> None:
    program = side.start(
        [
            compiled(
                """
                fd_set r, w; FD_ZERO(&r); FD_SET(0, &r); w = r; FD_ZERO(&w); struct timeval v = {5, 0};
                SHOW(select(1, &r, &w, 0, &v)); SHOW(FD_ISSET(0, &r)); SHOW(v.tv_sec * 1000 + v.tv_usec / 1000);
                FD_SET(0, &r); v = (struct timeval){10, 0};
                SHOW(select(1, &r, 0, 0, &v)); SHOW(FD_ISSET(0, &r)); SHOW(v.tv_sec * 1000 + v.tv_usec / 1000);
                FD_SET(700, &r); SHOW(select(701, &r, 0, 0, &v)); SHOW(errno == EBADF);
                SHOW(select(-1, 0, 0, 0, 0)); SHOW(errno == EINVAL);
                """,
                SELECT,
            )
        ]
    )
    side.at(8.25, lambda: program.stdin and (program.stdin.write(b"x"), program.stdin.flush()))
    lines = [each.rsplit(" ", 3)[1:] for each in side.live().splitlines()]
    assert lines == [
        [value, "at", str(at)]
        for value, at in [("0", 5000), ("0", 5000), ("0", 5000), ("1", 8250), ("1", 8250), ("6750", 8250)]
    ] + [[value, "at", "8250"] for value in ("-1", "1", "-1", "1")]


def test_poll_reports_a_descriptor_that_is_closed_and_one_that_hung_up(run: Run) -> None:
    lines = run(
        """
        int pipes[2]; pipe(pipes); close(pipes[1]);
        struct pollfd p[2] = {{pipes[0], POLLIN, 0}, {99, POLLIN, 0}};
        SHOW(poll(p, 2, -1)); SHOW(p[0].revents == POLLHUP); SHOW(p[1].revents == POLLNVAL);
        SHOW(epoll_wait(99, (struct epoll_event[1]){}, 1, 1000)); SHOW(errno == EBADF);
        """,
        SELECT,
    )
    assert [each.split(" ")[-3] for each in lines] == ["2", "1", "1", "-1", "1"]


def test_the_mask_of_ppoll_lets_a_signal_in(run: Run) -> None:
    lines = run(
        """
        sigset_t all, none; sigfillset(&all); sigemptyset(&none); sigprocmask(SIG_SETMASK, &all, 0);
        signal(SIGALRM, on); alarm(2); sleep(5); SHOW(count);
        SHOW(ppoll(0, 0, 0, &none)); SHOW(errno == EINTR); SHOW(count);
        alarm(2); SHOW(pselect(0, 0, 0, 0, 0, &none)); SHOW(errno == EINTR); SHOW(count);
        alarm(2); SHOW(epoll_pwait(epoll_create1(0), (struct epoll_event[1]){}, 1, -1, &none)); SHOW(count);
        """,
        SELECT + "static int count; static void on(int s) { (void)s; count++; }",
    )
    assert [each.rsplit(" ", 3)[1:] for each in lines] == [
        [value, "at", str(at)]
        for value, at in [
            ("0", 5000), ("-1", 5000), ("1", 5000), ("1", 5000), ("-1", 7000), ("1", 7000), ("2", 7000), ("-1", 9000),
            ("3", 9000),
        ]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "look", ["poll(&p, 1, 0)", "recv(s, &c, 1, MSG_DONTWAIT)", "select(s + 1, &set, 0, 0, &none)"]
)
def test_a_look_that_may_not_wait_comes_after_the_platform_has_settled(
    side: Side, compiled: Compile, look: str
) -> None:
    """A program's request is answered before it looks, though it does not wait: else the look is a race."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections: list[socket.socket] = []

        def answer() -> None:
            if not connections:
                connections.append(server.accept()[0])
            with contextlib.suppress(BlockingIOError, ConnectionError):
                connections[0].send(b"y" * len(connections[0].recv(9, socket.MSG_DONTWAIT)))

        side.platform = lambda: (
            answer() if len(side.waits) > 1 else None
        )  # from the first wait after the start on
        side.start(
            [
                compiled(
                    f"""
                    struct sockaddr_in a = {{AF_INET, htons({server.getsockname()[1]})}}; char c = 0; fd_set set;
                    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK); int s = socket(AF_INET, SOCK_STREAM, 0);
                    struct pollfd p = {{s, POLLIN, 0}}; struct timeval none = {{0, 0}}; FD_ZERO(&set); FD_SET(s, &set);
                    SHOW(connect(s, (void *)&a, sizeof a)); write(s, "a", 1); SHOW({look});
                    """,
                    SELECT + "#include <netinet/in.h>\n",
                )
            ]
        )
        assert [each.split(" ")[-3:] for each in side.live().splitlines()] == [
            [each, "at", "0"] for each in ("0", "1")
        ]
        connections[0].close()


@pytest.mark.parametrize(
    ("does", "sent"),
    [
        ("", False),
        ('printf("a line");', False),
        ('write(s[0], "x", 1);', True),
        ('send(s[0], "x", 1, 0);', True),
        ("shutdown(s[0], SHUT_WR);", True),
        ("close(s[0]);", True),
        ('write(s[0], "x", 1); sleep(1);', False),
    ],
)
def test_a_wait_says_whether_something_was_sent_before(side: Side, run: Run, does: str, sent: bool) -> None:
    run(f"int s[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, s); sleep(1); {does} sleep(1);")
    assert (side.waits[-1], side.sent[-1]) == ("sleep", sent)
