"""Turns of a program: all that it has sent is there at its end, and the platform stands still until then."""

from __future__ import annotations

import asyncio

import pytest

from labkit import Lab, LabError
from labkit.core.host_time import monotonic
from labkit.firmware import run, scheduler
from labkit.firmware.scheduler import ProgramScheduler
from labkit.lab.product import Product
from tests.firmware.programs import built, python

CLIENT = """
import socket, ssl, time
HOST = "thermostat.m2.lab.localhost"
plain = socket.create_connection((HOST, 443))
s = ssl.create_default_context().wrap_socket(plain, server_hostname=HOST)
s.settimeout(5)

def head(path, body, *more):
    form = "Content-Type: application/x-www-form-urlencoded; charset=utf-8"
    lines = [f"POST {path} HTTP/1.1", f"Host: {HOST}", form, f"Content-Length: {len(body)}", *more, "", ""]
    return "\\r\\n".join(lines).encode()

s.sendall(head("/provision/activate", "id=d") + b"id=d")
token = "X-Platform-CIK: " + s.recv(4096).split(b"\\r\\n\\r\\n")[1].decode()
write = head("/onep:v1/stack/alias", "temperature=1", token)
"""
PIECES = """
for _ in range(40):
    s.sendall(write)
    s.sendall(b"temperature=1")
    assert s.recv(4096).startswith(b"HTTP/1.1 204 ")
print("all")
"""
HOLDS = (
    "",
    "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)",
    "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)",
)
SLOW = """
for _ in range(3):
    s.sendall(write + b"temperature=1")
    end = time.process_time() + {}
    while time.process_time() < end:
        pass
    print("sent")
    s.recv(4096)
"""


@pytest.mark.parametrize("option", HOLDS)
def test_nothing_that_was_sent_is_held_back(lab: Lab, thermostat: Product, option: str) -> None:
    """The kernel would hold the second piece back for some real milliseconds, and lab time would go on without it."""
    run = lab.firmware(python(CLIENT + option + PIECES), identity="d", ends=True)
    assert [each.text for each in run.output] == ["all"]
    assert len(lab.journal.writes("d")) == 40


def test_the_platform_stands_still_while_a_program_has_a_turn() -> None:
    """Else it would be chance what comes first: a line printed after a request was sent, or the request."""
    for seconds in (0, 0.05):
        with Lab(seed=7) as lab:
            lab.product("thermostat", resources={"temperature": "number"})
            lab.firmware(python(CLIENT + SLOW.format(seconds)), identity="d", seed=1, ends=True)
            found = [each.kind for each in lab.journal.select() if each.kind in ("output", "request")]
            assert found == ["request", *3 * ["output", "request"]]


SILENT = """
import socket, ssl, time
HOST = "thermostat.m2.lab.localhost"
context = ssl.create_default_context()
plain = socket.create_connection((HOST, 443))
began = time.time()
if {wait!r} == "handshake":
    left = plain.recv(1)
else:
    s = context.wrap_socket(plain, server_hostname=HOST)
    s.sendall({wait!r}.replace("HOST", HOST).encode())
    left = s.recv(4096)
print(left.split(b"\\r\\n")[0].decode() or "nothing", "after", round(time.time() - began))
"""
HEAD = "POST /provision/activate HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\n"


@pytest.mark.parametrize(
    ("wait", "end"),
    [
        ("handshake", "nothing after 10"),
        ("", "nothing after 10"),
        (HEAD, "nothing after 10"),
        (f"{HEAD}\r\nid", "HTTP/1.1 408 Request Timeout after 30"),
    ],
)
def test_a_connection_that_brings_nothing_ends_after_lab_time(
    lab: Lab, thermostat: Product, wait: str, end: str
) -> None:
    run = lab.firmware(python(SILENT.format(wait=wait)), identity="d", ends=True)
    lab.clock.advance(hours=1)
    assert [each.text for each in run.output] == [end]


THREADS = """
import os, threading, time
go = False
def first():
    for number in range(3):
        time.sleep(0)
        print("first", number)
def second():
    for number in range(3):
        os.sched_yield()
        print("second", number)
    time.sleep(WAIT)
    global go
    go = True
threads = [threading.Thread(target=each) for each in (first, second)]
for each in threads: each.start()
while not go: time.sleep(0)
print("over after", time.time() - START)
""".replace("START", "1_767_225_600")


def test_threads_that_give_way_take_turns(lab: Lab) -> None:
    run = lab.firmware(python(THREADS.replace("WAIT", "0")), identity="d", ends=True)
    lab.clock.advance(1)
    said = [each.text for each in run.output]
    assert sorted(said[:-1]) == [f"{name} {number}" for name in ("first", "second") for number in range(3)]
    assert said[-1] == "over after 0.0"
    assert run.ended is not None


@pytest.mark.sampled
def test_a_thread_that_gives_way_until_time_passes_is_named(lab: Lab) -> None:
    with pytest.raises(
        LabError, match=r"^firmware d: python\S* gives way again and again .*run.kill\(\) ends it\n"
    ):
        lab.firmware(python(THREADS.replace("WAIT", "5")), identity="d")
    assert lab.clock.time == 1_767_225_600


def test_a_barrier(lab: Lab) -> None:
    run = lab.firmware([built("barrier", "-pthread")], identity="d", ends=True)
    lab.clock.advance(60)
    assert [(each.text, each.time - 1_767_225_600) for each in run.output] == [
        ("round 1", 14),
        ("round 2", 28),
        ("end", 28),
    ]


CHILD = """
import os, signal, time
began = time.time()
signal.signal(signal.SIGCHLD, lambda *_: print("a child ended after", time.time() - began))
for seconds in range(1, 9):
    if not os.fork():
        time.sleep(5 * seconds)
        os._exit(0)
time.sleep(60)
"""


def test_the_end_of_a_child_interrupts_a_sleep(lab: Lab) -> None:
    run = lab.firmware(python(CHILD), identity="d", ends=True)
    lab.clock.advance(60)
    assert [each.text for each in run.output] == [f"a child ended after {5.0 * each}" for each in range(1, 9)]


ALARM = """
import signal, time
began = time.time()
signal.signal(signal.SIGALRM, lambda *_: print("alarm after", time.time() - began))
signal.alarm(4)
time.sleep(60)
"""


@pytest.mark.parametrize("seed", range(8))
def test_an_alarm_comes_before_time_moves_on(lab: Lab, seed: int) -> None:
    """Its thread begins while the one that sets it waits for that."""
    run = lab.firmware(python(ALARM), identity="d", ends=True, seed=seed)
    lab.clock.advance(60)
    assert [each.text for each in run.output] == ["alarm after 4.0"]


FORK = """
import os, time
began = time.time()
if not os.fork():
    time.sleep(20)
    os._exit(0)
for _ in range(300_000): pass
print("computed after", time.time() - began)
os.wait()
print("over after", time.time() - began)
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_parent_that_computes_after_a_fork_is_waited_for(lab: Lab, seed: int) -> None:
    """Until its child is there, it sleeps in a way that it has not said."""
    run = lab.firmware(python(FORK), identity="d", ends=True, seed=seed)
    lab.clock.advance(60)
    assert [each.text for each in run.output] == ["computed after 0.0", "over after 20.0"]


PIPELINE = "for i in 1 2 3; do echo $i | grep . | tail -1; sleep 1; done"


def test_a_lab_that_had_no_processor_reads_before_it_names_a_program(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each wait of the guard ends 5 s late, when the program has long said that it waits."""
    late, in_time = 0.0, ProgramScheduler._wait_for_change

    async def starved(guard: ProgramScheduler, seconds: float) -> None:
        nonlocal late
        (program,) = guard.runs
        if not all(each.greeted for each in program.processes.values()):
            await in_time(guard, seconds)
            return
        while any(each.state.letter in "RD" for each in program.busy()):
            pass
        late += 5
        await asyncio.sleep(0)

    monkeypatch.setattr(ProgramScheduler, "_wait_for_change", starved)
    for module in (scheduler, run):
        monkeypatch.setattr(module, "monotonic", lambda: monotonic() + late)
    while late < 50:  # most of its waits are so short that the guard needs none
        found = lab.firmware(["sh", "-c", PIPELINE], identity="d", ends=True)
        lab.clock.advance(60)
        assert [each.text for each in found.output] == ["1", "2", "3"]
