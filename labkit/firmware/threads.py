"""Processes and threads of a run, as far as they have told the lab, and whether they wait."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from labkit.firmware import processes
from labkit.firmware.conversation import Line
from labkit.firmware.processes import Kept, SystemCall, ThreadState
from labkit.labtime.clock import Timer

RUNNING = "RD"


class BusyThread(NamedTuple):
    """A thread that has not said that it waits. call: in which it sleeps, None if it runs."""

    tid: int
    state: ThreadState
    call: SystemCall | None


class ProgramThread:
    """A thread that has told the lab of itself.

    tid: its id, 0 before its greeting and for the connection of a whole process; place: among the threads of its
    process, as they were made; waiting: whether it is in the wait `number`; reason: what it waits in; sent: whether
    something left its process before; due: called at the end of the wait by its `timer`; asked: the state of the lab in
    which nothing was ready for it; gave_way: the lab's count of turns when it last ran after it had given way;
    unanswered: questions to which it has not answered; is_gone: whether its connection has ended.
    """

    def __init__(self, line: Line) -> None:
        self.line = line
        self.tid = self.place = 0
        self.process: ProgramProcess | None = None
        self.waiting = False
        self.number = self.when = self.reason = 0
        self.due: Callable[[], object]
        self.timer: Timer | None = None
        self.asked: object = None
        self.unanswered = self.gave_way = 0
        self.still = self.sent = self.is_gone = False

    def wait(self, number: int, when: int, reason: int, *, sent: bool) -> None:
        """Note that it waits. when: lab time in ns; sent: whether something left its process before."""
        self.waiting, self.sent = True, sent
        self.number, self.when, self.reason = number, when, reason
        self.asked, self.unanswered, self.still = None, 0, False

    def run(self) -> None:
        """Note that it runs."""
        self.waiting = False
        self.unanswered, self.still = 0, False
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.process is not None:
            self.process.rests = False

    def answered(self, number: int) -> None:
        """Note that nothing is ready for it."""
        if number == self.number and self.unanswered:
            self.unanswered -= 1
            self.still = not self.unanswered

    def is_running(self) -> bool:
        """Return whether the kernel has it on a processor, or on the way there."""
        state = None if self.process is None else processes.thread_state(self.process.pid, self.tid)
        return state is not None and state.letter in RUNNING

    @property
    def order(self) -> tuple[int, int]:
        """Place among the threads of its run."""
        process = self.process
        assert process is not None
        return process.number, self.place


class ProgramProcess:
    """A process of a run.

    pid: on this system; own_pid: as it knows itself, 0 before its greeting; number: place in the order of the run;
    greeted: whether its preloaded library has told of itself; rests: whether all of its threads are known to wait.
    """

    def __init__(self, pid: int, number: int) -> None:
        self.pid = pid
        self.number = number
        self.pidfd = os.pidfd_open(pid)
        self._facts = Kept(pid)
        self.children = self._facts.children
        self.greeted = self.rests = False
        self.own_pid = 0
        self.seen: list[tuple[int, int]] | None = (
            None  # threads asleep that have not said so, and their turns
        )
        self.threads: list[ProgramThread] = []
        self._known: dict[tuple[int, int], bool] = {}  # by thread and count of its turns: whether it sleeps

    def close(self) -> None:
        """Forget the process, which is gone."""
        os.close(self.pidfd)
        self._facts.close()

    def waits_alone(self) -> bool:
        """Return whether its one thread waits, and the kernel knows of no other, and of no child."""
        self.rests = self.threads[-1].waiting and self._facts.is_alone()
        if self.rests:
            self.seen = None
        return self.rests

    def look(self, *, closely: bool) -> bool:
        """Return whether all threads wait. closely: ask the kernel about those that have not said so."""
        if not self.greeted:
            return False
        waiting = {each.tid for each in self.threads if each.waiting}
        others = any(not each.waiting and each.tid for each in self.threads)
        if others and not closely:
            return False
        if not others and waiting and self._facts.threads() == len(waiting):
            self.rests, self.seen = True, None
        else:
            self.seen = self._asleep(waiting)
            self.rests = self.seen is not None and self.seen == self._asleep(waiting)
        return self.rests

    def _asleep(self, waiting: set[int]) -> list[tuple[int, int]] | None:
        """Return how often each thread that has not said so has run; None unless all of them sleep."""
        found = []
        for tid, state in self.undeclared(waiting):
            if state.letter not in "SZX" or not self._sleeps(tid, state):
                return None
            found.append((tid, state.turns))
        return found

    def _sleeps(self, tid: int, state: ThreadState) -> bool:
        key = (tid, state.turns)
        if key not in self._known:
            call = processes.thread_call(self.pid, tid)
            self._known = {each: known for each, known in self._known.items() if each[0] != tid}
            if state.letter == "S" and call is None:
                return False
            self._known[key] = call is None or processes.sleeps(self.pid, call)
        return self._known[key]

    def undeclared(self, waiting: set[int]) -> Iterator[tuple[int, ThreadState]]:
        """Iterate over the threads that have not said that they wait, with their states. waiting: ids of the others."""
        for tid in processes.thread_ids(self.pid):
            if tid not in waiting and (state := processes.thread_state(self.pid, tid)) is not None:
                yield tid, state

    def busy(self) -> list[BusyThread]:
        """Return the threads that have not said that they wait, and that do not sleep for others."""
        waiting = {each.tid for each in self.threads if each.waiting}
        found = []
        for tid, state in self.undeclared(waiting):
            call = processes.thread_call(self.pid, tid)
            if call is None or not processes.sleeps(self.pid, call) or state.letter not in "SZX":
                found.append(BusyThread(tid, state, call))
        return found


def look_at(known: Sequence[ProgramProcess], *, closely: bool) -> bool:
    """Return whether all threads of the processes of a run wait.

    What sleeps without having said so, another process may have woken since it was seen: it is looked at again, and
    once more at the end, when it has to be as it was.
    """
    if all(each.rests for each in known):
        return True
    moved = [each for each in known if not each.rests or each.seen is not None]
    rests = all(each.look(closely=closely) for each in moved)
    silent = [(each, each.seen) for each in moved if each.seen is not None]
    if rests and len(known) > 1:
        rests = all(each.look(closely=closely) and each.seen == seen for each, seen in silent)
    if not rests:
        for each, _ in silent:
            each.rests = False
    return rests
