"""Names and ports of a program: what the lab lists leads to the lab."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.firmware.preload.side import Side

Compile = Callable[..., Path]

BEFORE = """
#include <netdb.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <fcntl.h>
static void find(const char *name, int family) {
    struct addrinfo h = {.ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME}, *f = 0;
        char text[99] = "";
    int error = getaddrinfo(name, "443", &h, &f);
    if (!error) getnameinfo(f->ai_addr, f->ai_addrlen, text, 99, 0, 0, NI_NUMERICHOST);
    printf("%s %s %s\\n", name, error ? gai_strerror(error) : text, error ? "" : f->ai_canonname);
    if (f) freeaddrinfo(f);
}
"""


def test_names_of_the_lab_and_their_suffixes(side: Side, compiled: Compile) -> None:
    side.names(
        "lamp.example.com\t127.0.0.1\n*.m2.example.com\t127.0.0.3\nsix.example.com\t::1\nport\t443\t9\n"
    )
    program = compiled(
        """
        find("lamp.example.com", 0); find("LAMP.Example.com.", AF_INET); find("a.b.m2.example.com", 0);
            find("six.example.com", 0);
        find("lamp.example.com", AF_INET6); find("m2.example.com.invalid", 0); find("127.0.0.9", 0);
        struct hostent *h = gethostbyname("lamp.example.com"), e, *r; char b[999]; int error;
            uint32_t three = htonl(0x7f000003);
        printf("%s %s\\n", h->h_name, inet_ntoa(*(struct in_addr *)h->h_addr));
        h = gethostbyname2("x.m2.example.com", AF_INET); printf("%d\\n", !memcmp(h->h_addr, &three, 4));
        gethostbyname_r("lamp.example.com", &e, b, 999, &r, &error);
            printf("%s %s\\n", r->h_name, inet_ntoa(*(struct in_addr *)r->h_addr));
        """,
        BEFORE,
    )
    side.start([program])
    lines = side.live().splitlines()
    lines[5] = lines[5].split()[0]  # the real resolver's word
    assert lines == [
        "lamp.example.com 127.0.0.1 lamp.example.com",
        "LAMP.Example.com. 127.0.0.1 LAMP.Example.com.",
        "a.b.m2.example.com 127.0.0.3 a.b.m2.example.com",
        "six.example.com ::1 six.example.com",
        "lamp.example.com Name or service not known ",
        "m2.example.com.invalid",
        "127.0.0.9 127.0.0.9 127.0.0.9",
        "lamp.example.com 127.0.0.1",
        "1",
        "lamp.example.com 127.0.0.1",
    ]


@pytest.mark.parametrize("blocks", ["0", "O_NONBLOCK"])
def test_a_fixed_port_leads_to_the_labs_and_is_shown_as_it_was_asked(
    side: Side, compiled: Compile, blocks: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as lab, socket.create_server(("127.0.0.2", 0)) as other:
        port = other.getsockname()[1]
        side.names(f"lamp.example.com\t127.0.0.1\nport\t443\t{lab.getsockname()[1]}\nport\t{port}\t1\n")
        program = compiled(
            f"""
            struct sockaddr_in a = {{AF_INET, htons(443)}}, p; socklen_t n = sizeof p;
                inet_aton("127.0.0.1", &a.sin_addr);
            int s = socket(AF_INET, SOCK_STREAM, 0); fcntl(s, F_SETFL, {blocks}); connect(s, (void *)&a, sizeof a);
            SHOW(poll(&(struct pollfd){{s, POLLOUT, 0}}, 1, 0)); write(s, "x", 1);
            SHOW(getpeername(s, (void *)&p, &n)); SHOW(ntohs(p.sin_port));
            inet_aton("127.0.0.2", &a.sin_addr); a.sin_port = htons({port}); close(s);
                s = socket(AF_INET, SOCK_STREAM, 0);
            SHOW(connect(s, (void *)&a, sizeof a)); getpeername(s, (void *)&p, &n); SHOW(ntohs(p.sin_port) == {port});
            """,
            BEFORE,
        )
        side.start([program])
        lines = [each.rsplit(" ", 3)[1] for each in side.live().splitlines()]
        assert lines == ["1", "0", "443", "0", "1"]
        with lab.accept()[0] as connection:
            assert connection.recv(9) == b"x"


def test_the_list_is_read_anew_each_time(side: Side, compiled: Compile) -> None:
    side.names("a.example.com\t127.0.0.1\n")
    side.at(1, lambda: side.names("a.example.com\t127.0.0.7\n"))
    side.start([compiled('find("a.example.com", 0); sleep(2); find("a.example.com", 0);', BEFORE)])
    assert [each.split()[1] for each in side.live().splitlines()] == ["127.0.0.1", "127.0.0.7"]
