"""A run of a user's program: its processes, what they print, and how they begin and end."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import MSG_DONTWAIT
from typing import Protocol

from labkit.context import Context
from labkit.core.chance import seeded_hash
from labkit.core.errors import LabError
from labkit.core.host_time import monotonic
from labkit.firmware import conversation, processes
from labkit.firmware.conversation import FOREVER, Line, ThreadMessage
from labkit.firmware.environment import environment
from labkit.firmware.executable import expect_preloadable, find_program
from labkit.firmware.output import ProgramOutput
from labkit.firmware.page import Page, lab_seconds, reads_of
from labkit.firmware.power import Silenced, silence
from labkit.firmware.program import ProgramEnd, ProgramPlan, new_folder, start_process
from labkit.firmware.threads import BusyThread, ProgramProcess, ProgramThread, look_at
from labkit.http.address import ServerAddress
from labkit.http.sites import HostTable
from labkit.labtime.clock import Timer

ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # where a listener of all addresses is reached


class NamesFile:
    """The file of names. path: of the file; hosts: of the lab; address: at which it listens."""

    def __init__(self, path: Path, hosts: HostTable, address: ServerAddress) -> None:
        self._path = path
        self._hosts = hosts
        self._address = address
        self._written: tuple[object, ...] = ()

    def refresh(self) -> None:
        """Write the file anew if the lab's names or ports have changed. A program reads the old one or the new one."""
        address = self._address
        now = (self._hosts.changes, address.host, address.https_port, address.http_port)
        if now != self._written:
            beside = self._path.with_name("names.new")
            beside.write_text(self._text(), encoding="ascii")
            beside.replace(self._path)
            self._written = now

    def _text(self) -> str:
        address = self._address
        ip = ANY.get(address.host, address.host)
        lines = [f"{name}\t{ip}\n" for name in self._hosts.certificate_names()]
        ports = ((443, address.https_port), (80, address.http_port))
        lines += [f"port\t{usual}\t{port}\n" for usual, port in ports if port not in (None, usual)]
        return "".join(lines)


CHUNK = 65536
BACKLOG = 64
GIVES_UP = 7200.0  # seconds of lab time after which a connection without news is no more: Linux asks by then


class Watcher(Protocol):
    """Interface of what observes the runs of a lab."""

    def changed(self) -> None:
        """A program said or did something."""

    def started(self) -> None:
        """A program was started."""

    def due(self, run: ProgramRun, thread: ProgramThread) -> object:
        """The time of a wait has come. Returns QUIET if nothing else has to settle."""

    def ended(self, run: ProgramRun, end: ProgramEnd) -> None:
        """A program has ended."""

    def failed(self, error: Exception) -> None:
        """Note that an act planned for later failed."""


class ProgramRun:
    """A run. number: its place among those of the lab; cwd: folder in which it starts; library: the preloaded one."""

    has_own_pids = False  # it is in a PID namespace

    def __init__(
        self, number: int, program: ProgramPlan, context: Context, watcher: Watcher, library: Path
    ) -> None:
        self.number = number
        self.name = program.name
        self.seed = program.seed
        self.ends = program.ends
        self.program = Path(program.command[0]).name
        self.actor = f"firmware/{program.name}"
        self.output = ProgramOutput(context.clock.now, self._printed)
        self.ended: ProgramEnd | None = None
        self.pid: int | None = None  # of its first process on this system, once that has greeted
        self.processes: dict[int, ProgramProcess] = {}
        self.distrusts = False  # has told that it does not trust the lab's CA
        self.since = monotonic()  # real time of its last sign of life
        self._program = program
        self._context = context
        self._watcher = watcher
        self.library = library
        self.turns = self._started = self._starts = (
            0  # turns of its threads, processes for their order, starts
        )
        self._popen: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._printing = select.poll()  # asking it takes half the time of a read that finds nothing
        self._ending = ""  # what ends it
        self._is_over = asyncio.Event()
        self._again: Timer | None = None  # of its next start
        self._silenced: list[Silenced] = []
        self._connected: set[ProgramThread] = set()  # also those that have not greeted
        self._ends = select.poll()
        # reads of the time, and time on a processor, before its last sign of life
        self._reads = self._used = 0
        self._folder = new_folder()
        self.cwd = program.folder or self._folder / "cwd"
        if program.folder is None:
            self.cwd.mkdir()
        self._page = Page(self._folder / "page", context.clock.now())
        self._names = NamesFile(self._folder / "names", context.hosts, context.address)
        self._ca_file = self._folder / "ca.pem"
        self._ca_file.write_text(context.address.ca_pem)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.setblocking(False)
        self._listener.bind(str(self._folder / "socket"))
        self._listener.listen(BACKLOG)
        asyncio.get_running_loop().add_reader(self._listener.fileno(), self._accept)

    # --- what the guard asks

    @property
    def alive(self) -> bool:
        """Whether its process is there."""
        return self._popen is not None

    @property
    def rests(self) -> bool:
        """Whether all threads of all processes are known to wait."""
        for each in self.processes.values():  # noqa: SIM110  half the time of all(…), in each turn
            if not each.rests:
                return False
        return True

    def look(self, *, closely: bool) -> bool:
        """Return whether all threads wait. closely: ask the kernel about those that have not said so."""
        if self.single:
            (process,) = self.processes.values()
            if process.waits_alone():
                return True
        known = list(self.processes.values())
        if not look_at(known, closely=closely):
            return False
        for process in known:
            for pid in process.children():
                if pid not in self.processes and self._is_running(pid):
                    self._add(pid)
                    return False
        return True

    @property
    def single(self) -> bool:
        """Whether it has one thread alone, as far as the lab knows."""
        if len(self.processes) != 1:
            return False
        (process,) = self.processes.values()
        return len(process.threads) == 2

    def threads(self) -> Iterator[ProgramThread]:
        """Iterate over the threads that wait, in the order in which they are asked."""
        for process in list(self.processes.values()):
            yield from sorted((each for each in process.threads if each.waiting), key=lambda each: each.order)

    def show_time(self) -> None:
        """Show the lab's time and its names to the program, before it runs."""
        self._names.refresh()
        self._page.show(self._context.clock.now())

    def lives(self) -> None:
        """Note a sign of life."""
        self.since = monotonic()
        self._used = self._reads = 0

    def busy(self) -> list[BusyThread]:
        """Return the threads that have not said that they wait, and that do not sleep for others."""
        return [each for process in self.processes.values() for each in process.busy()]

    def processor_time(self) -> float:
        """Return the seconds that its processes had a processor since the first call after the last sign of life."""
        used = 0
        for pid in self.processes:
            states = (processes.thread_state(pid, tid) for tid in processes.thread_ids(pid))
            used += sum(each.ran for each in states if each is not None)
        self._used = self._used or used
        return (used - self._used) / 1e9

    def clock_reads(self) -> int:
        """Return how often it has asked for the time since the first call after the last sign of life."""
        reads = sum(reads_of(self._folder, each.own_pid) for each in self.processes.values())
        self._reads = self._reads or reads
        return reads - self._reads

    def begin_counts(self) -> None:
        """Begin to count for `processor_time` and `clock_reads`, unless they were begun since the last sign of life."""
        self.processor_time()
        self.clock_reads()

    # --- its life

    def start(self) -> None:
        """Start the process. Raises LabError if that is impossible."""
        program, context = self._program, self._context
        seed = seeded_hash(self.seed, self._starts)
        variables = environment(
            os.environ,
            program.own,
            library=self.library,
            folder=self._folder,
            ca_file=self._ca_file,
            seed=seed,
        )
        path = find_program(program.command[0], self.cwd, variables)
        expect_preloadable(path, variables)
        self._leave_all()  # the first that greets from now on is the program
        self._page.boot(context.clock.now())
        self._names.refresh()
        self._popen, self._pipe = start_process(program.command, path, self.cwd, variables)
        self._printing.register(self._pipe, select.POLLIN)
        self._starts += 1
        self._started = 0
        self._again, self._ending, self.ended, self.distrusts = None, "", None, False
        self._is_over = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._pipe, self.read)
        self._add(self._popen.pid)
        detail = {"command": list(program.command), "seed": self.seed, "start": self._starts}
        context.journal.record("start", self.actor, f"{self.program} started", detail=detail)
        self._watcher.started()
        self._changed()

    def notice_ends(self) -> None:
        """Note the end of processes that ended by themselves: nothing else may happen before the lab knows it."""
        if self.processes and self._ends.poll(0):
            for process in list(self.processes.values()):
                if select.select([process.pidfd], [], [], 0)[0]:
                    self._gone(process)

    def start_in(self, seconds: float) -> None:
        """Start the process again once so much lab time has passed; 0: now."""
        if seconds:
            clock = self._context.clock
            self._again = clock.call_at(clock.now() + seconds, self._start_later)
        else:
            self.start()

    def _start_later(self) -> None:
        try:
            self.start()
        except LabError as error:
            self._watcher.failed(error)

    async def end(self, by: str) -> None:
        """End its processes at once, and return once they are gone. by: why, as in ProgramEnd."""
        if self._popen is None:
            return
        if by == "power cut":
            self._silence()
        self._ending = by
        over = self._is_over
        self._kill()
        await over.wait()

    def _silence(self) -> None:
        """Keep the connections of its processes open, until a system without news of them would give up."""
        silenced = silence([each.pidfd for each in self.processes.values()], self.processes)
        self._silenced += silenced
        clock = self._context.clock
        clock.call_at(clock.now() + GIVES_UP, partial(self._forget_connections, silenced))

    def forget_start(self) -> None:
        """Do not start again."""
        if self._again is not None:
            self._again.cancel()
            self._again = None

    @property
    def waits_for_start(self) -> bool:
        """Whether it will start again at a later lab time."""
        return self._again is not None

    async def close(self) -> None:
        """End its processes, and release all that belongs to the run."""
        self.forget_start()
        await self.end("stop")
        self._forget_connections(list(self._silenced))
        self._leave_all()
        asyncio.get_running_loop().remove_reader(self._listener.fileno())
        self._listener.close()
        self._page.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _forget_connections(self, silenced: list[Silenced]) -> None:
        """End connections that were kept open after a power cut."""
        for each in silenced:
            if each in self._silenced:
                self._silenced.remove(each)
                each.close()

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            assert self._popen is not None
            os.killpg(self._popen.pid, signal.SIGKILL)
        for process in self.processes.values():
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(process.pidfd, signal.SIGKILL)

    # --- what happens to it

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                thread = ProgramThread(Line(self._listener.accept()[0]))
                thread.due = partial(self._watcher.due, self, thread)
                self._connected.add(thread)
                asyncio.get_running_loop().add_reader(thread.line.number, self.hear, thread)
                os.set_blocking(thread.line.number, True)  # uvloop's reader has changed that

    def hear(self, thread: ProgramThread, *, wait: bool = False) -> bool:
        """Take what a thread has said, and return whether it has said something. wait: as long as it usually takes."""
        flags, said = 0 if wait else MSG_DONTWAIT, False
        while not thread.is_gone and (message := thread.line.hear(flags)) is not None:
            said, flags = True, MSG_DONTWAIT
            self._take(thread, message)
            if thread.waiting:  # it says nothing more until the lab does
                break
        return said

    def hear_all(self) -> bool:
        """Take all that its threads have said, and return whether one has said something."""
        self._accept()
        heard = [self.hear(each) for each in list(self._connected)]
        return any(heard)

    def _take(self, thread: ProgramThread, message: ThreadMessage) -> None:
        kind = message.kind
        if kind == conversation.STILL:
            thread.answered(message.number)
        elif kind == conversation.WAITS:
            thread.wait(message.number, message.when, message.detail, sent=bool(message.other >> 32))
            if self._page.now < message.when < FOREVER:
                thread.timer = self._context.clock.call_at(lab_seconds(message.when), thread.due)
        elif kind == conversation.RUNS:
            if thread.waiting and message.number == thread.number:
                thread.run()
        elif kind == conversation.HELLO:
            self._greeted(thread, message)
        else:
            self._left(thread)
        self._changed()

    def _greeted(self, thread: ProgramThread, message: ThreadMessage) -> None:
        if (version := message.detail & 0xFFFFFFFF) != conversation.VERSION:
            text = f"its library speaks version {version} of the conversation, the lab {conversation.VERSION}"
            self._watcher.failed(LabError(f"firmware {self.name}: {text}"))
        pid = thread.line.pid
        try:
            process = self.processes.get(pid) or self._add(pid)
            tid = processes.thread_known_as(pid, message.number) if message.other else 0
        except ProcessLookupError:  # it was killed meanwhile
            self._left(thread)
            return
        if self.pid is None:
            self._begun(pid)
        process.greeted, process.rests, process.own_pid = True, False, message.when
        thread.process = process
        thread.place = message.other
        thread.tid = tid
        process.threads.append(thread)

    def _begun(self, pid: int) -> None:
        """Note which process is the program: the one that was started, or the child for whose end that one waits."""
        if self._popen is not None:
            self.pid, self.has_own_pids = pid, pid != self._popen.pid
            self._page.begun()
            if self.has_own_pids:
                self._forget(self.processes[self._popen.pid])

    def _left(self, thread: ProgramThread) -> None:
        if thread.is_gone:
            return
        thread.is_gone = True
        self._connected.remove(thread)
        asyncio.get_running_loop().remove_reader(thread.line.number)
        thread.line.close()
        thread.run()
        if (process := thread.process) is not None:
            process.threads.remove(thread)
            if not thread.tid:  # another program runs in the process, or none
                process.greeted = False

    def _leave_all(self) -> None:
        self._accept()
        for thread in list(self._connected):
            self._left(thread)

    def _is_running(self, pid: int) -> bool:
        state = processes.thread_state(pid, pid)
        return state is not None and state.letter not in "ZX"

    def _add(self, pid: int) -> ProgramProcess:
        self._started += 1
        process = self.processes[pid] = ProgramProcess(pid, self._started)
        asyncio.get_running_loop().add_reader(process.pidfd, self._gone, process)
        self._ends.register(process.pidfd, select.POLLIN)
        return process

    def _gone(self, process: ProgramProcess) -> None:
        """Note the end of a process. With that of the first one the run is over."""
        if self.processes.get(process.pid) is not process:
            return
        self._forget(process)
        for each in self.processes.values():
            each.rests = False  # one may have waited for its end
        if self._popen is not None and process.pid == (self.pid or self._popen.pid):
            self._over(self._popen)
        self._changed()

    def _forget(self, process: ProgramProcess) -> None:
        asyncio.get_running_loop().remove_reader(process.pidfd)
        self._ends.unregister(process.pidfd)
        for thread in list(process.threads):
            self._left(thread)
        del self.processes[process.pid]
        process.close()

    def _over(self, popen: subprocess.Popen[bytes]) -> None:
        status = popen.wait()
        self._kill()  # what it has left behind
        self.read()
        asyncio.get_running_loop().remove_reader(self._pipe)
        self._printing.unregister(self._pipe)
        os.close(self._pipe)
        self.output.end()
        self._popen = self.pid = None
        self._is_over.set()
        name = processes.signal_name(-status) if status < 0 else None
        by = self._ending
        self.ended = ProgramEnd(self._context.clock.now(), None if name else status, name, by)
        detail: dict[str, object] = {"signal": name} if name else {"status": status}
        detail |= {"by": by} if by else {"expected": True} if self.ends else {}
        self._context.journal.record("end", self.actor, f"{self.program} {self.ended.how}", detail=detail)
        self._watcher.ended(self, self.ended)

    def read(self) -> None:
        """Read what was printed so far."""
        try:
            while self._printing.poll(0) and (data := os.read(self._pipe, CHUNK)):
                self.output.add(data)
                self._changed()
        except OSError:  # nothing more has been printed yet
            pass

    def _printed(self, text: str) -> None:
        self._context.journal.record("output", self.actor, text)

    def _changed(self) -> None:
        self.lives()
        self._watcher.changed()
