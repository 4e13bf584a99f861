"""Facts of the kernel about processes and threads: /proc, and a few system calls that Python lacks."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

FUTEX_COMMAND = 127  # of a futex operation, without its flags
TIMED_FUTEX = 3  # argument of a futex wait that is its timeout
GETFD = 438  # pidfd_getfd, the same number on all machines
KEEP_ADDRESSES = 0x0040000  # personality: addresses are not drawn anew with each start
ASK = 0xFFFFFFFF
NAMES = {
    "x86_64": {
        0: "read",
        1: "write",
        7: "poll",
        19: "readv",
        20: "writev",
        23: "select",
        34: "pause",
        35: "nanosleep",
        42: "connect",
        43: "accept",
        44: "sendto",
        45: "recvfrom",
        46: "sendmsg",
        47: "recvmsg",
        61: "wait4",
        65: "semop",
        70: "msgrcv",
        72: "fcntl",
        73: "flock",
        128: "rt_sigtimedwait",
        130: "rt_sigsuspend",
        202: "futex",
        208: "io_getevents",
        219: "restart_syscall",
        220: "semtimedop",
        230: "clock_nanosleep",
        232: "epoll_wait",
        243: "mq_timedreceive",
        247: "waitid",
        270: "pselect6",
        271: "ppoll",
        281: "epoll_pwait",
        288: "accept4",
        299: "recvmmsg",
        426: "io_uring_enter",
        441: "epoll_pwait2",
        449: "futex_waitv",
        455: "futex_wait",
    },
    "aarch64": {
        22: "epoll_pwait",
        25: "fcntl",
        32: "flock",
        63: "read",
        64: "write",
        65: "readv",
        66: "writev",
        72: "pselect6",
        73: "ppoll",
        95: "waitid",
        98: "futex",
        101: "nanosleep",
        115: "clock_nanosleep",
        128: "restart_syscall",
        133: "rt_sigsuspend",
        137: "rt_sigtimedwait",
        183: "mq_timedreceive",
        188: "msgrcv",
        192: "semtimedop",
        193: "semop",
        202: "accept",
        203: "connect",
        206: "sendto",
        207: "recvfrom",
        211: "sendmsg",
        212: "recvmsg",
        242: "accept4",
        243: "recvmmsg",
        260: "wait4",
        426: "io_uring_enter",
        441: "epoll_pwait2",
        449: "futex_waitv",
        455: "futex_wait",
    },
}.get(platform.machine(), {})
# Waits for other threads and processes alone: who is in one, sleeps until one of them acts.
SLEEPS = frozenset({"wait4", "waitid", "pause", "rt_sigsuspend", "flock", "fcntl", "semop"})


class ThreadState(NamedTuple):
    """State of a thread. letter: of /proc, as R and S; ran: nanoseconds on a processor; turns: how often it ran."""

    letter: str
    ran: int
    turns: int


class SystemCall(NamedTuple):
    """System call in which a thread is. name: or its number, where that is not known here."""

    name: str
    arguments: tuple[int, ...]


class Kept:
    """Files of /proc of one process that stay open, since they are read whenever it waits."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._files: list[int] = []
        try:
            self._files.append(os.open(f"/proc/{pid}/task", os.O_RDONLY | os.O_DIRECTORY))
            self._files.append(os.open(f"/proc/{pid}/task/{pid}/children", os.O_RDONLY))
        except OSError:  # it is gone, or the system does not tell of children
            pass

    def threads(self) -> int:
        """Return the number of threads, 0 if the process is gone."""
        try:
            return os.fstat(self._files[0]).st_nlink - 2
        except (OSError, IndexError):
            return 0

    def is_alone(self) -> bool:
        """Return whether it has one thread and no child."""
        try:
            return os.fstat(self._files[0]).st_nlink == 3 and not os.pread(self._files[1], 1, 0)
        except (OSError, IndexError):
            return False

    def children(self) -> list[int]:
        """Return the ids of the processes that it has started and that it has not waited for."""
        try:
            found = os.pread(self._files[1], 65536, 0)
            if self.threads() > 1:
                for tid in thread_ids(self._pid):
                    if tid != self._pid:
                        found += b" " + Path(f"/proc/{self._pid}/task/{tid}/children").read_bytes()
        except (OSError, IndexError):
            return []
        return [int(each) for each in found.split()] if found else []

    def close(self) -> None:
        """Close the files."""
        for each in self._files:
            os.close(each)
        self._files.clear()


def thread_ids(pid: int) -> list[int]:
    """Return the ids of the threads of a process; none if it is gone."""
    try:
        return sorted(int(each.name) for each in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def thread_known_as(pid: int, number: int) -> int:
    """Return the id of a thread of a process. number: its id in the PID namespace in which it is.

    Raises ProcessLookupError if it is gone.
    """
    for tid in reversed(thread_ids(pid)):  # who asks has just begun
        with suppress(OSError):
            ids = _read(f"/proc/{pid}/task/{tid}/status").partition("\nNSpid:")[2].partition("\n")[0].split()
            if ids[-1:] == [str(number)]:
                return tid
    raise ProcessLookupError(f"process {pid} has no thread {number}")


def thread_state(pid: int, tid: int) -> ThreadState | None:
    """Return the state of a thread, None if it is gone."""
    try:
        letter = _read(f"/proc/{pid}/task/{tid}/stat").rpartition(")")[2].split()[0]
        ran, _, turns = _read(f"/proc/{pid}/task/{tid}/schedstat").split()
    except (OSError, IndexError, ValueError):
        return None
    return ThreadState(letter, int(ran), int(turns))


def thread_call(pid: int, tid: int) -> SystemCall | None:
    """Return the system call in which a thread sleeps, None if it runs or the system does not tell."""
    try:
        words = _read(f"/proc/{pid}/task/{tid}/syscall").split()
    except OSError:
        return None
    if not words or not words[0].lstrip("-").isdecimal():
        return None
    number = int(words[0])
    return SystemCall(NAMES.get(number, f"system call {number}"), tuple(int(each, 16) for each in words[1:7]))


def sleeps(pid: int, call: SystemCall) -> bool:
    """Return whether a thread in this system call sleeps until another thread or process of its run acts."""
    if call.name == "futex":
        return call.arguments[TIMED_FUTEX] == 0
    if call.name in ("read", "readv"):
        try:
            return str(Path(f"/proc/{pid}/fd/{call.arguments[0]}").readlink()).startswith("pipe:")
        except OSError:
            return False
    return call.name in SLEEPS


def program_of(pid: int) -> str:
    """Return the path of the program that a process runs, empty if it cannot be told."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""


def environment_of(pid: int) -> dict[str, str] | None:
    """Return the environment with which a process began, None if it cannot be told."""
    try:
        data = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    items = (each.decode(errors="replace").partition("=") for each in data.split(b"\0") if each)
    return {name: value for name, _, value in items}


def sockets_of(pid: int) -> list[int]:
    """Return the descriptors of a process that are sockets."""
    try:
        links = {int(each.name): each.readlink() for each in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return []
    return [number for number, link in links.items() if str(link).startswith("socket:")]


def copy_descriptor(pidfd: int, number: int) -> int:
    """Return a copy of a descriptor of another process, as dup does. Raises OSError where the system forbids it."""
    copy: int = _libc().syscall(GETFD, pidfd, number, 0)
    if copy < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.set_inheritable(copy, False)
    return copy


def keep_addresses(keep: bool) -> None:
    """Have processes that this thread starts keep their addresses from start to start, where the system allows it."""
    now = _libc().personality(ASK)
    if now >= 0:
        _libc().personality(now | KEEP_ADDRESSES if keep else now & ~KEEP_ADDRESSES)


def signal_name(number: int) -> str:
    """Return the name of a signal, such as SIGSEGV."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  half the time of pathlib
        return file.read()
