"""Reads, accepts, connects and sends that block."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.firmware.preload.side import Side

Run = Callable[..., list[str]]
Compile = Callable[..., Path]

READS = {
    "read": "read(s[0], b, 8)",
    "__read_chk": "__read_chk(s[0], b, 8, 8)",
    "recv": "recv(s[0], b, 8, 0)",
    "__recv_chk": "__recv_chk(s[0], b, 8, 8, 0)",
    "recvfrom": "recvfrom(s[0], b, 8, 0, 0, 0)",
    "recvmsg": "recvmsg(s[0], &m, 0)",
    "recvmmsg": "recvmmsg(s[0], &mm, 1, 0, 0)",
    "readv": "readv(s[0], &v, 1)",
    "syscall": "syscall(SYS_read, s[0], b, 8)",
}
BEFORE = (
    "#include <sys/uio.h>\n#include <sys/syscall.h>\n#include <netinet/in.h>\n"
    "#include <fcntl.h>\n#include <arpa/inet.h>\n"
    "ssize_t __read_chk(int, void *, size_t, size_t); ssize_t __recv_chk(int, void *, size_t, size_t, int);\n"
    "static void on(int s) { (void)s; }\n"
)
PAIR = """
int s[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, s); char b[9] = ""; struct iovec v = {b, 8};
struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1}; struct mmsghdr mm = {m};
"""


@pytest.mark.parametrize("name", list(READS))
def test_a_read_waits_for_what_another_writes(run: Run, name: str) -> None:
    lines = run(
        f"""{PAIR} if (!fork()) {{ sleep(30); write(s[1], "abc", 3); sleep(1); _exit(0); }}
        int r = {READS[name]}; SHOW(r); puts(b);""",
        BEFORE,
    )
    assert lines == [f"r {1 if name == 'recvmmsg' else 3} at 30000", "abc"]


@pytest.mark.parametrize("name", [each for each in READS if each != "recvmmsg"])
def test_a_read_ends_by_the_timeout_of_its_socket(run: Run, name: str) -> None:
    lines = run(
        f"""{PAIR} struct timeval t = {{2, 500000}}; setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
        int r = {READS[name]}; SHOW(r); SHOW(errno == EAGAIN);""",
        BEFORE,
    )
    assert lines == ["r -1 at 2500", "errno == EAGAIN 1 at 2500"]


@pytest.mark.parametrize("name", list(READS))
def test_a_read_that_may_not_wait_does_not(run: Run, name: str) -> None:
    lines = run(
        f"{PAIR} fcntl(s[0], F_SETFL, O_NONBLOCK); int r = {READS[name]}; SHOW(r); SHOW(errno == EAGAIN);",
        BEFORE,
    )
    assert lines == ["r -1 at 0", "errno == EAGAIN 1 at 0"]


def test_a_read_of_a_pipe_ends_with_its_writer(run: Run) -> None:
    lines = run(
        """int p[2]; pipe(p); char c; if (!fork()) { sleep(5); write(p[1], "x", 1); sleep(5); _exit(0); }
        close(p[1]); SHOW(read(p[0], &c, 1)); SHOW(read(p[0], &c, 1));"""
    )
    assert lines == ["read(p[0], &c, 1) 1 at 5000", "read(p[0], &c, 1) 0 at 10000"]


def test_stdin_by_read_and_by_stdio(side: Side, compiled: Compile) -> None:
    program = side.start(
        [
            compiled(
                """char b[99], *line = 0; size_t n = 0; b[read(0, b, 99)] = 0; printf("%lld %s", ms(), b);
                fgets(b, 99, stdin); printf("%lld %s", ms(), b);
                getline(&line, &n, stdin); printf("%lld %s", ms(), line);
                int i = 0; scanf("%d", &i); printf("%lld %d\\n", ms(), i); getchar();
                i = getchar(); printf("%lld %c\\n", ms(), i);
                i = fgetc(stdin) == EOF; printf("%lld %d\\n", ms(), i);"""
            )
        ]
    )

    def write(text: bytes) -> None:
        assert program.stdin
        os.write(program.stdin.fileno(), text)

    for second, text in enumerate((b"one\n", b"two\n", b"three\n", b"42\n", b"c"), 1):
        side.at(second, lambda text=text: write(text))  # type: ignore[misc]
    side.at(9, lambda: program.stdin and program.stdin.close())
    assert side.live().splitlines() == ["1000 one", "2000 two", "3000 three", "4000 42", "5000 c", "9000 1"]
    assert side.waits == ["start", *["read"] * 6]


def test_all_of_a_message_is_waited_for_with_waitall(run: Run) -> None:
    lines = run(
        f"""{PAIR} if (!fork()) {{ for (int i = 0; i < 4; i++) {{ sleep(1); write(s[1], "ab", 2); }} sleep(1);
            _exit(0); }}
        SHOW(recv(s[0], b, 8, MSG_WAITALL)); puts(b);""",
        BEFORE,
    )
    assert lines == ["recv(s[0], b, 8, MSG_WAITALL) 8 at 4000", "abababab"]


@pytest.mark.parametrize("call", ["accept(l, 0, 0)", "accept4(l, 0, 0, SOCK_CLOEXEC)"])
def test_accept_waits_for_a_connection_and_connect_for_nothing(run: Run, call: str) -> None:
    lines = run(
        f"""
        int l = socket(AF_INET, SOCK_STREAM, 0); struct sockaddr_in a = {{AF_INET}}; socklen_t n = sizeof a;
            char c = 0;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK); bind(l, (void *)&a, n); listen(l, 5);
            getsockname(l, (void *)&a, &n);
        if (!fork()) {{ sleep(9); int s = socket(AF_INET, SOCK_STREAM, 0); int r = connect(s, (void *)&a, n);
            write(s, r ? "n" : "y", 1); sleep(3); _exit(0); }}
        int s = {call}; SHOW(s > 0); read(s, &c, 1); SHOW(c == 'y'); SHOW(read(s, &c, 1));
        struct timeval t = {{4, 0}}; setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t); SHOW({call});
            SHOW(errno == EAGAIN);
        close(l); int q = socket(AF_INET, SOCK_STREAM, 0); SHOW(connect(q, (void *)&a, n));
            SHOW(errno == ECONNREFUSED);
        SHOW(fcntl(q, F_GETFL) & O_NONBLOCK);
        """,
        BEFORE,
    )
    assert [each.rsplit(" ", 3)[1:] for each in lines] == [
        [value, "at", str(at)]
        for value, at in [
            ("1", 9000), ("1", 9000), ("0", 12000), ("-1", 16000), ("1", 16000), ("-1", 16000), ("1", 16000), ("0",
                16000),
        ]
    ]  # fmt: skip


SENDS = {
    "write": "write(s[0], big, SIZE)",
    "send": "send(s[0], big, SIZE, 0)",
    "sendto": "sendto(s[0], big, SIZE, 0, 0, 0)",
    "sendmsg": "sendmsg(s[0], &m, 0)",
    "writev": "writev(s[0], v, 2)",
}
SEND = """
#define SIZE 1000000
int s[2]; %s; char *big = malloc(SIZE); for (int i = 0; i < SIZE; i++) big[i] = i * 7 %% 251;
struct iovec v[2] = {{big, SIZE / 3}, {big + SIZE / 3, SIZE - SIZE / 3}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
if (!fork()) { close(s[0]); long n = 0, bad = 0; char b[100000]; sleep(20);
    for (ssize_t r; (r = read(s[1], b, sizeof b)) > 0; n += r) for (int i = 0; i < r;
        i++) bad += b[i] != (char)((n + i) * 7 %% 251);
    SHOW(n); SHOW(bad); exit(0); }
close(s[1]); int r = %s; SHOW(r); close(s[0]); wait(0);
"""


@pytest.mark.parametrize("name", list(SENDS))
def test_a_send_that_blocks_sends_all(run: Run, name: str) -> None:
    lines = run(SEND % ("socketpair(AF_UNIX, SOCK_STREAM, 0, s)", SENDS[name]), BEFORE)
    assert sorted(lines) == ["bad 0 at 20000", "n 1000000 at 20000", "r 1000000 at 20000"]


def test_a_write_to_a_full_pipe_blocks_until_it_is_read(run: Run) -> None:
    lines = run(SEND % ("int q[2]; pipe(q); s[0] = q[1]; s[1] = q[0]", SENDS["write"]), BEFORE)
    assert sorted(lines) == ["bad 0 at 20000", "n 1000000 at 20000", "r 1000000 at 20000"]


def test_a_send_ends_by_the_timeout_of_its_socket_or_fails_as_elsewhere(run: Run) -> None:
    lines = run(
        """
        signal(SIGPIPE, SIG_IGN); int s[2]; socketpair(AF_UNIX, SOCK_STREAM, 0, s); static char big[1000000];
        struct timeval t = {3, 0}; setsockopt(s[0], SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
        ssize_t n = send(s[0], big, sizeof big, 0); SHOW(n > 0 && n < 1000000); SHOW(send(s[0], big, 1, 0));
            SHOW(errno == EAGAIN);
        SHOW(send(s[0], big, 1, MSG_DONTWAIT)); close(s[1]); SHOW(send(s[0], "x", 1, 0)); SHOW(errno == EPIPE);
        SHOW(write(99, "x", 1)); SHOW(errno == EBADF); SHOW(send(1, "x", 1, 0)); SHOW(errno == ENOTSOCK);
        """,
        BEFORE,
    )
    assert [each.rsplit(" ", 3)[1:] for each in lines] == [
        [value, "at", str(at)]
        for value, at in [
            ("1", 3000), ("-1", 6000), ("1", 6000), ("-1", 6000), ("-1", 6000), ("1", 6000), ("-1", 6000), ("1", 6000),
            ("-1", 6000), ("1", 6000),
        ]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "shown"), [("0", ["-1 at 4000", "1 at 4000"]), ("SA_RESTART", ["1 at 9000", "0 at 9000"])]
)
@pytest.mark.parametrize("call", ["read(s[0], b, 8)", "recv(s[0], b, 8, 0)"])
def test_a_signal_ends_a_read_unless_it_is_to_go_on(
    run: Run, call: str, flags: str, shown: list[str]
) -> None:
    lines = run(
        f"""{PAIR} struct sigaction a = {{.sa_handler = on, .sa_flags = {flags}}}; sigaction(SIGALRM, &a, 0);
        if (!fork()) {{ sleep(9); write(s[1], "x", 1); _exit(0); }}
        alarm(4); errno = 0; int r = {call}; SHOW(r); SHOW(errno == EINTR);""",
        BEFORE,
    )
    assert [each.split(" ", 1)[1].replace("== EINTR ", "") for each in lines] == shown


def test_what_comes_over_the_network_is_read_when_the_lab_asks(side: Side, compiled: Compile) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        body = f"""
        struct sockaddr_in a = {{AF_INET, htons({server.getsockname()[1]})}};
            a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int s = socket(AF_INET, SOCK_STREAM, 0); char b[99]; SHOW(connect(s, (void *)&a, sizeof a));
            SHOW(send(s, "hello", 5, 0));
        SHOW(recv(s, b, 99, 0)); SHOW(recv(s, b, 99, 0));
        """
        side.start([compiled(body, BEFORE)])
        side.live(1)
        connection, _ = server.accept()
        with connection:
            assert connection.recv(99) == b"hello"
            side.at(60, lambda: connection.sendall(b"answer"))
            side.at(90, lambda: connection.shutdown(socket.SHUT_WR))
            lines = side.live().splitlines()
    assert [each.rsplit(" ", 3)[1:] for each in lines] == [
        [value, "at", str(at)] for value, at in [("0", 0), ("5", 0), ("6", 60000), ("0", 90000)]
    ]


@pytest.mark.parametrize("options", ["", "fcntl(s, F_SETFL, O_NONBLOCK);"])
@pytest.mark.parametrize(
    "call",
    [
        'send(s, "abc", 3, MSG_MORE)',
        'sendto(s, "abc", 3, MSG_MORE | MSG_NOSIGNAL, 0, 0)',
        "sendmsg(s, &m, MSG_MORE)",
        "sendmmsg(s, &mm, 1, MSG_MORE)",
    ],
)
def test_nothing_of_a_stream_is_held_back(side: Side, compiled: Compile, call: str, options: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        body = f"""
        struct sockaddr_in a = {{AF_INET, htons({server.getsockname()[1]})}};
            a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        struct iovec v = {{"abc", 3}}; struct msghdr m = {{.msg_iov = &v, .msg_iovlen = 1}};
            struct mmsghdr mm = {{m}};
        int s = socket(AF_INET, SOCK_STREAM, 0); connect(s, (void *)&a, sizeof a); {options}
            {call}; sleep(60);
        """
        side.start([compiled(body, BEFORE)])
        side.live(1)
        connection, _ = server.accept()
        with connection:
            assert connection.recv(99, socket.MSG_DONTWAIT) == b"abc"


def test_a_datagram_of_several_sends_stays_one(run: Run) -> None:
    lines = run(
        """struct sockaddr_in a = {AF_INET}; a.sin_addr.s_addr = htonl(INADDR_LOOPBACK); socklen_t n = sizeof a;
        int l = socket(AF_INET, SOCK_DGRAM, 0); bind(l, (void *)&a, n); getsockname(l, (void *)&a, &n);
        int s = socket(AF_INET, SOCK_DGRAM, 0); connect(s, (void *)&a, n); char b[9];
        send(s, "abc", 3, MSG_MORE); send(s, "de", 2, 0); int r = recv(l, b, 9, 0); SHOW(r);""",
        BEFORE,
    )
    assert lines == ["r 5 at 0"]
