"""The guard of a lab's programs: lab time moves only while each of their threads waits.

Programs run one at a time. When the platform has settled and read all that came for it, the guard asks the threads that
wait, in a fixed order, whether something is ready for them. The first that says so runs, until all threads of its run
wait again and the platform has settled; then the guard begins anew. A thread whose time has come runs in the same
way. While it is on a processor, the platform stands still: what both do in that turn is not a question of who is
quicker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from labkit.context import Context
from labkit.core.certificates import DISTRUST
from labkit.core.errors import TakenError
from labkit.core.host_time import monotonic
from labkit.core.records import Record
from labkit.firmware import conversation
from labkit.firmware.diagnosis import PATIENCE, problem_of
from labkit.firmware.page import lab_ns
from labkit.firmware.program import FirmwareError, ProgramEnd, ProgramEndedError, ProgramPlan
from labkit.firmware.run import ProgramRun
from labkit.firmware.threads import ProgramThread
from labkit.labtime.clock import QUIET

SHORT = 0.001  # real seconds after which the kernel is asked about threads that say nothing
LONG = 0.1
MOST_SHOWN = 200  # characters of a printed line in an error
TURN = 3.0  # real seconds for which the platform stands still, while a thread has a turn
DEAF = (conversation.SLEEP,)  # waits that only time ends, or a signal of a thread or process of the same run
ALERT = "TLS alert "


class ProgramScheduler:
    """Participant of a lab's activity for all of its programs.

    runs: all, also those that have ended.
    """

    def __init__(self, context: Context) -> None:
        self.runs: list[ProgramRun] = []  # in the order of their numbers
        self._context = context
        self._activity = context.activity
        self._unread = context.inputs.unread
        self._errors: list[Exception] = []  # that the next one to settle gets
        self._missed: set[str] = set()  # names of runs whose unexpected end was raised
        self._due: list[ProgramThread] = []
        self._changes = 0
        self._turns = 0  # of programs, so far
        self._following = 0  # of these, turns of threads that had given way
        self._followed: object = None  # state of the lab in which they have turns alone
        self._follows_since = 0.0  # real time
        self._number = 0  # of the last run
        self._current: ProgramRun | None = None  # that ran last
        self._moved: asyncio.Future[None] | None = None
        self._unwatch: Callable[[], None] | None = None

    def add(self, program: ProgramPlan, library: Path) -> ProgramRun:
        """Return a new run, which has not begun. An earlier one of its name, which must have ended, is forgotten."""
        self._number += 1
        run = ProgramRun(self._number, program, self._context, self, library)
        self.runs = [each for each in self.runs if each.name != run.name] + [run]
        self.accept_ends(run.name)
        return run

    def started(self) -> None:
        """Take part, since a program runs."""
        if self._unwatch is None:
            self._unwatch = self._context.journal.watch_kind("refused", self._refused)
        self._activity.join(self)

    def running(self) -> list[str]:
        """Return the names of the runs that have not ended, or that will start again."""
        return [each.name for each in self.runs if each.alive or each.waits_for_start]

    def expect_none(self, act: str) -> None:
        """Raise TakenError while a program runs. act: what cannot be done then, for the error."""
        if names := self.running():
            raise TakenError(f"{act}: the program of firmware {names[0]!r} is running: stop() its run first")

    def expect_all(self) -> None:
        """Raise ProgramEndedError for a run whose unexpected end was raised before, and was not accepted."""
        for run in self.runs:
            if run.name in self._missed and run.ended is not None:
                raise _ended_error(run, run.ended)

    def accept_ends(self, *names: str) -> None:
        """Raise no more for ends that were raised. names: of the runs, by default all."""
        self._missed -= set(names) if names else self._missed

    def _leave(self) -> None:
        """Take part no longer, until the next program is started."""
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        self._activity.leave(self)

    async def close(self) -> None:
        """End all runs."""
        self._leave()
        self._errors.clear()
        for run in self.runs:
            await run.close()
        self.runs.clear()

    # --- called by runs

    def changed(self) -> None:
        self._changes += 1
        if self._moved is not None and not self._moved.done():
            self._moved.set_result(None)

    def due(self, run: ProgramRun, thread: ProgramThread) -> object:
        thread.timer = None
        if not self._errors and not self._due:
            for each in self.runs:
                if not each.rests:
                    break
            else:
                return QUIET if self._wake(run, thread) and not self._unread() else None
        self._due.append(thread)
        return None

    def ended(self, run: ProgramRun, end: ProgramEnd) -> None:
        if not (end.by or run.ends):
            self.failed(_ended_error(run, end))

    def failed(self, error: Exception) -> None:
        self._errors.append(error)
        self.changed()

    def _refused(self, record: Record) -> None:
        """Name the program that has just refused the lab's certificate."""
        run, alert = self._current, record.summary.removeprefix(ALERT)
        if run is None or run.distrusts or alert not in DISTRUST or not record.summary.startswith(ALERT):
            return
        run.distrusts = True
        self.failed(
            FirmwareError(
                f"firmware {run.name}: {run.program} does not trust the lab's CA (it ended TLS by the alert "
                f"{alert!r}). The file is in the variables SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE and "
                "NODE_EXTRA_CA_CERTS; a client with libcurl or another library that reads none of them sets it itself: "
                'curl_easy_setopt(handle, CURLOPT_CAINFO, getenv("CURL_CA_BUNDLE"))',
                run.name,
                run.output.lines,
            )
        )

    # --- the participant

    async def settle(self) -> bool:
        # Ends and errors first, since they change who is asked. Then programs that still compute, whose requests the
        # platform has to read before anybody is woken; then waits that are over, one at a time, so that what a thread
        # causes is done before the next. Only when all that is quiet do threads say what they would wait for, and the
        # counts are compared to see that nothing has moved meanwhile.
        for run in self.runs:
            run.notice_ends()
        if self._errors:
            error = self._errors.pop(0)
            if isinstance(error, ProgramEndedError):
                self._missed.add(error.identity)
            raise error
        if not any(each.alive for each in self.runs):
            self._leave()
            return True
        for run in self.runs:
            if not run.rests:
                await self._until_rest(run)
                run.read()
                return False
        if self._unread():
            return False
        if self._due:
            self._wake_first()
            return False
        changes, begun = self._changes, self._activity.begun
        if not await self._ask_all((begun, self._turns)) or self._run_yielded():
            return False
        return changes == self._changes and begun == self._activity.begun and not self._unread()

    def _wake_first(self) -> None:
        """Wake the first thread whose wait has ended while other threads ran."""
        found = [
            (run.number, thread.order, run, thread)
            for run in self.runs
            for thread in run.threads()
            if thread in self._due
        ]
        self._due = [each[3] for each in found]
        if found:
            *_, run, thread = min(found, key=lambda each: each[:2])
            self._due.remove(thread)
            self._wake(run, thread)

    def _wake(self, run: ProgramRun, thread: ProgramThread) -> bool:
        """Wake a thread whose wait has ended. Return whether it waits again, and nothing else can have changed."""
        state = (self._activity.begun, self._turns)
        single = run.single
        self._begin_turn(run)
        if not thread.line.say(conversation.TIME, thread.number):
            run.hear(thread)
            return False
        thread.run()
        if not self._waits_again(run, thread) or not (single and run.single):
            return False
        if not thread.sent:
            # It has sent nothing and waits again, and each program has one thread: nothing became ready for others.
            self._turns -= 1
            thread.asked = state
        if thread.reason in DEAF:
            thread.asked = run.turns
        return not thread.sent

    async def _ask_all(self, state: object) -> bool:
        """Ask the threads that may be ready. Return whether none is; the first one that is runs until it waits again.

        state: of the lab; who was asked in it need not be asked again.
        """
        for run in self.runs:
            for thread in run.threads():
                current = run.turns if thread.reason in DEAF else state
                if thread.asked == current:
                    continue
                single = run.single
                self._begin_turn(run, counts=False)
                if not await self._ask(run, thread):
                    self._turns += 1
                    run.turns += 1
                    if self._waits_again(run, thread) and single and run.single and thread.reason in DEAF:
                        thread.asked = run.turns
                    return False
                thread.asked = current
        return True

    def _run_yielded(self) -> bool:
        """Let the thread run that gave way (sched_yield, sleep(0)) the longest ago, now that nothing else can run.

        Returns whether there was one. Raises FirmwareError if that goes on and on, and nothing comes of it.
        """
        clock = self._context.clock
        now = lab_ns(clock.now())
        found = [
            (thread.gave_way, run.number, thread.order, run, thread)
            for run in self.runs
            for thread in run.threads()
            if thread.reason == conversation.SLEEP and thread.when <= now and thread.timer is None
        ]
        if not found:
            return False
        *_, run, thread = min(found, key=lambda each: each[:3])
        state = (now, self._activity.begun, self._turns - self._following)
        if state != self._followed:
            self._followed, self._follows_since = state, monotonic()
        elif monotonic() - self._follows_since >= PATIENCE:
            self._followed = None
            raise FirmwareError(
                f"firmware {run.name}: {run.program} gives way again and again (sched_yield, sleep(0)) and nothing "
                "comes of it, so lab time stands still: sleep in that loop, or wait for a condition; run.kill() "
                "ends it",
                run.name,
                run.output.lines,
            )
        before = self._turns
        self._wake(run, thread)
        self._following += self._turns - before
        thread.gave_way = self._turns
        return True

    def _begin_turn(self, run: ProgramRun, *, counts: bool = True) -> None:
        run.show_time()
        run.lives()
        self._current = run
        self._turns += counts
        run.turns += counts

    async def _ask(self, run: ProgramRun, thread: ProgramThread) -> bool:
        """Return whether nothing is ready for a thread; otherwise it runs."""
        thread.still = False
        thread.unanswered += 1
        number = thread.number
        if not thread.line.say(conversation.READY, number):
            run.hear(thread)
            return False
        self._receive(run, thread)
        while not thread.still and thread.waiting and thread.number == number:
            await self._wait_for_change(LONG)
            self._raise_if_silent(run)
        return thread.still

    def _waits_again(self, run: ProgramRun, thread: ProgramThread) -> bool:
        """Return whether a run waits again soon after a thread of it runs on."""
        while not thread.waiting and not thread.is_gone:
            if not self._receive(run, thread):
                return False
        run.read()
        return run.look(closely=False) and not self._errors

    def _receive(self, run: ProgramRun, thread: ProgramThread) -> bool:
        """Return whether a thread says something before it sleeps in a way that it has not said."""
        # The loop stands still meanwhile: if platform and thread went on at once, speed would decide what comes first.
        # A thread that says nothing for TURN is taken for one that computes on; the next question comes again later.
        end = 0.0
        while not run.hear(thread, wait=True):
            if not thread.is_running() or 0 < end <= monotonic():
                return False
            if end:  # it takes its time, not only one that others take
                run.begin_counts()
            end = end or monotonic() + TURN
        return True

    async def _until_rest(self, run: ProgramRun) -> None:
        """Return once all threads of a run wait, or it has ended. Raises FirmwareError if it is silent for too long."""
        pause, begun = SHORT, self._activity.begun
        while not self._errors and not run.look(closely=False):
            changes = self._changes
            await self._wait_for_change(pause)
            if self._changes != changes or self._activity.begun != begun:
                pause, begun = SHORT, self._activity.begun
                run.lives()
            elif run.look(closely=True):
                return
            else:
                pause = min(2 * pause, LONG)
                self._raise_if_silent(run)

    def _raise_if_silent(self, run: ProgramRun) -> None:
        """Raise FirmwareError if a run has been silent for too long."""
        run.begin_counts()
        silent = monotonic() - run.since
        # The lab itself may have had no processor: what the threads have said meanwhile lies unread. One that is named
        # neither speaks nor moves between two looks.
        if silent < PATIENCE or run.hear_all():
            return
        seen = run.busy()
        if not run.hear_all() and (text := problem_of(run, silent, seen)) is not None:
            run.lives()  # one that was stopped may go on by now, and has the same time again
            raise FirmwareError(text, run.name, run.output.lines)

    async def _wait_for_change(self, seconds: float) -> None:
        """Return when a program says or does something, at the latest after this number of real seconds."""
        loop = asyncio.get_running_loop()
        moved = self._moved = loop.create_future()
        handle = loop.call_later(seconds, self.changed_nothing)
        try:
            await moved
        finally:
            handle.cancel()
            self._moved = None

    def changed_nothing(self) -> None:
        """End a wait for a change, which has not come."""
        if self._moved is not None and not self._moved.done():
            self._moved.set_result(None)


def _ended_error(run: ProgramRun, end: ProgramEnd) -> ProgramEndedError:
    """Return the error of a run that has ended by itself, which was not expected."""
    last = run.output.lines[-1].text if run.output.lines else ""
    said = f"; it printed last: {last[:MOST_SHOWN]!r}" if last else "; it printed nothing"
    return ProgramEndedError(
        f"firmware {run.name}: {run.program} {end}{said}; run.restart() starts it again; after run.stop() lab time "
        "goes on without it, and with ends=True its end is expected",
        run.name,
        run.output.lines,
    )
