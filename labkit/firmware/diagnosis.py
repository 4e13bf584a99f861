"""Diagnosis of a program that does not wait: one sentence for an error, with what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.core.errors import LabError
from labkit.firmware import processes
from labkit.firmware.environment import FOLDER
from labkit.firmware.executable import expect_preloadable
from labkit.firmware.threads import BusyThread, ProgramProcess

if TYPE_CHECKING:
    from labkit.firmware.run import ProgramRun

PATIENCE = 4.0  # real seconds without a sign of life, after which a program is named: a guard time
STARVED = 5  # times as long until a program is named that had no processor, on a busy machine
SPINS = 50_000  # questions for the time without a wait
BUSY = 0.6  # of the time: a thread that had a processor for less was kept from it by others
STOPPED = "Tt"


def problem_of(run: ProgramRun, silent: float, seen: Sequence[BusyThread]) -> str | None:
    """Return why a run does not wait; None if it may only be slow.

    silent: real seconds without a sign of life; seen: its busy threads before all was read that they have said.
    """
    known = list(run.processes.values())
    for process in [each for each in known if not each.rests] or known:  # a thread that waits may not answer
        if (text := _problem(run, process, silent, seen)) is not None:
            return f"firmware {run.name}: {run.program} {text}"
    return None


def _problem(
    run: ProgramRun, process: ProgramProcess, silent: float, seen: Sequence[BusyThread]
) -> str | None:
    states = [processes.thread_state(process.pid, tid) for tid in processes.thread_ids(process.pid)]
    if any(each is not None and each.letter in STOPPED for each in states):
        return (
            f"is stopped (SIGSTOP, or a debugger), so lab time stands still: kill -CONT {process.pid} lets it go on, "
            "run.kill() ends it"
        )
    if not process.greeted and (text := _not_on_lab_time(process, run.library)) is not None:
        return text
    for each in process.busy():
        tid, state, call = each
        if call is not None and state.letter == "S" and each in seen:
            where = "" if tid == process.pid else f" of its thread {tid}"
            return (
                f"waits in {call.name}{where}, and the lab does not know when such a wait ends: use poll, select, "
                f"epoll, sleep or a condition variable by way of the C library{_hint(call.name)}; run.kill() ends it"
            )
    used, asked = run.processor_time(), run.clock_reads()
    if asked < SPINS and used < BUSY * silent and silent < STARVED * PATIENCE:
        return None
    if not process.greeted:
        return (
            f"has run for {silent:.0f} s before it was on lab time: see what its loader does (LD_DEBUG=libs)"
        )
    reads = "" if not asked else f" and asked for the time {asked:,} times"
    return (
        f"has run for {silent:.0f} real seconds without a wait{reads}, so lab time stands still: it may spin until "
        f"time passes, which needs a wait such as poll or sleep; gdb -p {process.pid} shows where; run.kill() ends it"
    )


def _not_on_lab_time(process: ProgramProcess, library: Path) -> str | None:
    """Return why a process has not connected to the lab; None if that is not known."""
    path = processes.program_of(process.pid)
    variables = processes.environment_of(process.pid)
    if variables is not None and (
        FOLDER not in variables or str(library) not in variables.get("LD_PRELOAD", "")
    ):
        return (
            f"started {path or 'a process'} without the variables LD_PRELOAD and {FOLDER}, so that one is not on lab "
            "time: pass the environment on (no env -i, no sudo)"
        )
    if path:
        try:
            expect_preloadable(Path(path), {})
        except LabError as error:
            return f"started what is not on lab time: {str(error).removeprefix('firmware: ')}"
    return None


def _hint(name: str) -> str:
    return " (set UV_USE_IO_URING=0, or what turns io_uring off)" if name.startswith("io_") else ""
