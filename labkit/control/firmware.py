"""Operations on programs of a user that live on lab time. Only a lab in this process can start them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from labkit.control.clock import number_of
from labkit.core.chance import chance, fresh_seed
from labkit.core.errors import LabError, TakenError
from labkit.core.record_lines import one_line
from labkit.firmware.library import library
from labkit.firmware.output import OutputLine
from labkit.firmware.program import SHOWN_LINES, FirmwareError, ProgramPlan
from labkit.firmware.run import ProgramRun
from labkit.platform import Platform

LONGEST_LINE = 300  # characters of a printed line in the note of an error


class FirmwareControl:
    """Operations on the programs of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def start(
        self,
        command: Sequence[str],
        identity: str | None,
        seed: int | None,
        env: Mapping[str, str | None],
        folder: Path | None,
        ends: bool,
    ) -> ProgramRun:
        """Start a program, and return its run once all of its threads wait.

        identity: name of the run, by default that of the program; seed: of its chance, by default drawn from the lab's
        and the name; env: variables, None for one to clear; folder: in which it starts, None for an empty one of the
        run; ends: whether its end is expected. Raises FirmwareError for one that ends or does not wait, LabError for
        one that cannot be on lab time, on a running clock, and on a system other than Linux.
        """
        self._expect_possible()
        name = self._name(command[0], identity)
        if seed is None:
            own = self._platform.context.identifiers.seed
            seed = fresh_seed() if own is None else chance(own, "firmware", name).getrandbits(63)
        built = await asyncio.to_thread(library)
        guard = self._platform.firmware
        earlier = [each for each in guard.runs if each.name == name]
        run = guard.add(ProgramPlan(name, tuple(command), seed, env, folder, ends), built)
        for each in earlier:
            await each.close()
        try:
            run.start()
            await self._platform.settle()
        except BaseException as error:
            await self.stop(run)
            _add_output(error, run)
            raise
        return run

    async def all(self) -> list[ProgramRun]:
        """Return all runs of programs, the first one first. Runs that have ended are among them."""
        return list(self._platform.firmware.runs)

    async def kill(self, run: ProgramRun) -> None:
        """End the processes of a run at once, as SIGKILL does. Returns once the platform has seen the end."""
        self._platform.firmware.accept_ends(run.name)
        run.forget_start()
        await run.end("kill")
        await self._platform.settle()

    async def restart(self, run: ProgramRun, down: float) -> None:
        """End the processes of a run at once, and start it again in `down` seconds of lab time."""
        await self._again(run, "restart", _seconds(down))

    async def power_cut(self, run: ProgramRun, down: float | None) -> None:
        """Cut the power of a run's device for `down` seconds of lab time; None: until `restart`.

        Its connections end without a word: for the platform they stay open, and silent. Raises LabError where the
        system forbids to keep them.
        """
        await self._again(run, "power cut", None if down is None else _seconds(down))

    async def _again(self, run: ProgramRun, by: str, down: float | None) -> None:
        self._expect_possible()
        if run not in self._platform.firmware.runs:
            raise LabError(f"firmware {run.name}: this run was stopped: start it again with lab.firmware(…)")
        self._platform.firmware.accept_ends(run.name)
        run.forget_start()
        await run.end(by)
        if down is not None:
            run.start_in(down)
        await self._platform.settle()

    async def stop(self, run: ProgramRun) -> None:
        """End the processes of a run at once, for good. Returns once the platform has seen the end."""
        guard = self._platform.firmware
        if run in guard.runs:
            await run.close()
            guard.runs.remove(run)
            await self._platform.settle()

    async def expect_all(self) -> None:
        """Raise ProgramEndedError for a program that has ended by itself, also if that was raised before."""
        self._platform.firmware.expect_all()

    async def accept_ends(self) -> None:
        """Have lab time go on without the programs whose unexpected end was raised."""
        self._platform.firmware.accept_ends()

    async def output(self, run: ProgramRun) -> list[OutputLine]:
        """Return the lines that a run has printed, the oldest first."""
        return list(run.output.lines)

    def _expect_possible(self) -> None:
        if not sys.platform.startswith("linux"):
            raise LabError(
                f"firmware: programs live on lab time under Linux only, and this is {sys.platform}"
            )
        if self._platform.context.clock.rate:
            raise LabError(
                "firmware: needs a virtual clock, as Lab(seed=7) has; on a running clock start the program yourself, "
                "with lab.ca_file and lab.hosts"
            )

    def _name(self, command: str, identity: str | None) -> str:
        running = self._platform.firmware.running()
        if identity is not None:
            if identity in running:
                raise TakenError(
                    f"firmware: {identity!r} is running already: stop() its run, or give another identity"
                )
            return identity
        base = Path(command).name
        names = [base, *(f"{base}-{number}" for number in range(2, len(running) + 2))]
        return next(each for each in names if each not in running)


def _add_output(error: BaseException, run: ProgramRun) -> None:
    """Add what a run has printed to the error of its start, after which nothing else shows it."""
    if isinstance(error, FirmwareError) and error.identity == run.name:
        error.output = tuple(run.output.lines)[-SHOWN_LINES:]
        if error.output:
            lines = "".join(f"\n  {one_line(each.text, LONGEST_LINE)}" for each in error.output)
            error.add_note(f"{run.program} printed:{lines}")


def _seconds(down: float) -> float:
    if number_of(down, "down") < 0:
        raise LabError(f"down: expected seconds, 0 or more, not {down!r}")
    return float(down)
