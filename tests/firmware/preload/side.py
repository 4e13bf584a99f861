"""A tiny lab side of the conversation with the preloaded library: time, and programs that run one at a time."""

from __future__ import annotations

import contextlib
import heapq
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

NS = 1_000_000_000
START = 1_800_000_000 * NS
UPTIME = 1000 * NS
FOREVER = (1 << 63) - 1
MESSAGE = struct.Struct("=IIqqq")
PATIENCE = 20  # real seconds in which a program waits again
SLEEPS = {"202": 4, "61": None, "247": None, "98": 4, "260": None, "95": None}  # futex and waits for children
KINDS = (
    "? sleep descriptors read write accept connect condition semaphore mutex join signal child futex timers start look"
).split()


@dataclass(eq=False)
class Thread:
    """A connection of a program."""

    connection: socket.socket
    pid: int = 0
    tid: int = 0
    number: int = -1  # in its process; 0: of the process itself
    wait: int = 0
    when: int = FOREVER
    kind: int = 0
    waits: bool = False
    still: bool = False


@dataclass
class Side:
    """The lab's side: `start` programs, `live` for some lab time, read `output`."""

    before: ClassVar[tuple[str, ...]] = ()  # what is preloaded before the library
    folder: Path
    library: Path
    threads: list[Thread] = field(default_factory=list)
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)  # in the order of their greetings
    calls: list[tuple[int, int, Callable[[], object]]] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)  # kinds of all waits so far
    messages: int = 0
    platform: Callable[[], object] | None = None  # what is to settle before a program is asked
    sent: list[bool] = field(
        default_factory=list
    )  # of all waits so far: whether something left the process before

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / "page").write_bytes(bytes(4096))
        with (self.folder / "page").open("r+b") as file:
            self.page = mmap.mmap(file.fileno(), 4096)
        self.now = START
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(self.folder / "socket"))
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.show()

    def show(self) -> None:
        struct.pack_into("=qqq", self.page, 0, self.now, START, START)

    def names(self, text: str) -> None:
        (self.folder / "names.new").write_text(text)
        (self.folder / "names.new").replace(self.folder / "names")

    def start(
        self, command: Sequence[str | Path], seed: str | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a program; its output is in a file, and its input a pipe."""
        preload = " ".join([*self.before, str(self.library)])
        variables = {**os.environ, "LD_PRELOAD": preload, "LABKIT_FIRMWARE": str(self.folder)}
        # Libraries of programs leak as they like, and the sanitizer's own library need not be the program's.
        variables |= {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"} if self.before else {}
        variables |= {"LABKIT_FIRMWARE_SEED": seed} if seed is not None else {}
        number = len(self.children)
        with (self.folder / f"output.{number}").open("wb") as output:
            child = subprocess.Popen(
                [*map(str, command)],
                env=variables | {**(env or {})},
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            )
        self.children.append(child)
        return child

    def output(self, number: int = 0) -> str:
        return (self.folder / f"output.{number}").read_text(errors="replace")

    def at(self, seconds: float, call: Callable[[], object]) -> None:
        """Call a function at a lab time in seconds since the start, while all programs wait."""
        heapq.heappush(self.calls, (START + round(seconds * NS), len(self.calls), call))

    # --- time

    def live(self, seconds: float = 1_000_000, number: int = 0) -> str:
        """Live until a lab time, or until all programs have ended; return the output of one."""
        until = START + round(seconds * NS)
        while True:
            self.settle()
            if all(each.poll() is not None for each in self.children) and not self.threads:
                return self.output(number)
            due = [
                each for each in self.threads if each.waits and each.when < FOREVER and not stopped(each.pid)
            ]
            first = min(due, key=self.place_in_time, default=None)
            when = first.when if first else FOREVER
            if self.calls and self.calls[0][0] <= min(when, until):
                at, _, call = heapq.heappop(self.calls)
                self.move(at)
                call()
            elif first is None or when > until:
                assert until < START + 1_000_000 * NS or not first, "too long"
                if first is None and not self.calls and seconds >= 1_000_000:
                    raise AssertionError(f"all wait for ever: {self.state()}\n{self.output(number)}")
                self.move(until)
                return self.output(number)
            else:
                self.move(when)
                self.say(first, "T")
                first.waits = False

    def move(self, to: int) -> None:
        self.now = max(self.now, to)
        self.show()

    def place_in_time(self, thread: Thread) -> tuple[int, tuple[int, int]]:
        return thread.when, self.place(thread)

    def place(self, thread: Thread) -> tuple[int, int]:
        return self.pids.index(thread.pid), thread.number

    def settle(self) -> None:
        """Return once all wait and nothing is ready for any of them."""
        while True:
            self.rest()
            if self.platform:
                self.platform()
            for each in sorted(
                (each for each in self.threads if each.waits and not stopped(each.pid)), key=self.place
            ):
                wait = each.wait
                each.still = False
                self.say(each, "P")
                deadline = time.monotonic() + PATIENCE
                while each in self.threads and each.waits and each.wait == wait and not each.still:
                    self.hear(0.05)
                    # a signal may stop it after the look above: it answers once it goes on
                    if stopped(each.pid):
                        break
                    assert time.monotonic() < deadline, f"no answer: {self.state()}"
                if not each.still:
                    break
            else:
                if not self.hear(0) and self.rests():
                    return

    def rest(self) -> None:
        deadline = time.monotonic() + PATIENCE
        self.hear(0)
        while not self.rests():
            self.hear(0.001)
            assert time.monotonic() < deadline, f"does not wait: {self.state()}"

    def rests(self) -> bool:
        """Return whether every thread of every process waits, or sleeps for another one."""
        known = {each.tid: each for each in self.threads if each.number > 0}
        family = {child.pid for child in self.children if child.poll() is None}
        family.update(child for pid in self.pids for child in offspring(pid))
        if any(pid not in self.pids and not self.is_silent(pid) for pid in family):
            return False
        return all(self.sleeps(pid, tid, known.get(tid)) for pid in self.pids for tid in tasks(pid))

    def is_silent(self, pid: int) -> bool:
        """Return whether a process that has not greeted will not do so: it has ended, or is static."""
        return all(self.sleeps(pid, tid, None) for tid in tasks(pid))

    def sleeps(self, pid: int, tid: int, thread: Thread | None) -> bool:
        if thread and thread.waits:
            return True
        try:
            task = Path(f"/proc/{pid}/task/{tid}")
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            if state in "ZX":
                return True
            if state == "T":
                return True
            words = (task / "syscall").read_text().split()
        except OSError:
            return False
        if state != "S" or words[0] not in SLEEPS:
            return False
        place = SLEEPS[words[0]]
        return place is None or words[place] == "0x0"

    def state(self) -> list[str]:
        found = []
        for pid in self.pids:
            for tid in tasks(pid):
                thread = next((each for each in self.threads if each.tid == tid and each.number), None)
                call = Path(f"/proc/{pid}/task/{tid}/syscall")
                text = call.read_text().split()[:6] if call.exists() else "gone"
                found.append(f"{pid}/{tid} {KINDS[thread.kind] if thread and thread.waits else text}")
        return found

    # --- conversation

    def say(self, thread: Thread, kind: str) -> None:
        try:
            thread.connection.send(MESSAGE.pack(ord(kind), thread.wait, 0, 0, 0))
        except OSError:
            self.drop(thread)

    def hear(self, patience: float) -> bool:
        """Read what has come; wait some real seconds for it. Return whether there was anything."""
        poller = select.poll()
        by = {each.connection.fileno(): each for each in self.threads}
        for fd in (self.listener.fileno(), *by):
            poller.register(fd, select.POLLIN)
        ready = poller.poll(patience * 1000)
        for fd, _ in ready:
            if fd == self.listener.fileno():
                connection, _ = self.listener.accept()
                self.threads.append(Thread(connection))
            else:
                self.read(by[fd])
        return bool(ready)

    def read(self, thread: Thread) -> None:
        try:
            data = thread.connection.recv(MESSAGE.size)
        except ConnectionError:
            data = b""
        if not data:
            self.drop(thread)
            return
        self.messages += 1
        kind, number, when, detail, other = MESSAGE.unpack(data)
        if kind == ord("H"):
            assert detail & 0xFFFFFFFF == 1
            thread.tid, thread.pid, thread.number = number, when, other
            if thread.pid not in self.pids:
                self.pids.append(thread.pid)
        elif kind == ord("W"):
            assert number == thread.wait + 1
            thread.wait, thread.when, thread.kind, thread.waits = number, when, detail, True
            self.waits.append(KINDS[detail])
            self.sent.append(bool(other >> 32))
        elif kind == ord("R"):
            thread.waits = thread.waits and number != thread.wait
        elif kind == ord("S"):
            thread.still = number == thread.wait
        else:
            raise AssertionError(f"message {kind}")

    def drop(self, thread: Thread) -> None:
        thread.connection.close()
        if thread in self.threads:
            self.threads.remove(thread)

    def close(self) -> None:
        """End all programs."""
        for child in self.children:
            if child.stdin:
                child.stdin.close()
        for pid in self.pids:
            if any(each.pid == pid for each in self.threads) or tasks(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for child in self.children:
            child.kill()
            child.wait()
        for each in [*self.threads]:
            self.drop(each)
        self.listener.close()


def stopped(pid: int) -> bool:
    """Return whether a process is stopped by a signal, and so answers nothing."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


def offspring(pid: int) -> list[int]:
    """Return the processes that a process has started, and that are still there."""
    found = []
    for tid in tasks(pid):
        with contextlib.suppress(OSError):
            found += [int(each) for each in Path(f"/proc/{pid}/task/{tid}/children").read_text().split()]
    return found


def tasks(pid: int) -> list[int]:
    try:
        return [int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
