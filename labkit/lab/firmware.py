"""Handles of programs of a user that live on lab time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from labkit.core.errors import LabError, OwnProcessError
from labkit.core.handle import Handle, warn
from labkit.core.journal_differences import JournalDifference, JournalText
from labkit.core.words import counted
from labkit.firmware.executable import whole_path
from labkit.firmware.output import OutputLine
from labkit.firmware.program import ProgramEnd
from labkit.firmware.run import ProgramRun
from labkit.lab.runtime import Runtime
from labkit.lab.states import LabStates

L = TypeVar("L", bound=LabStates)

LONGEST_NAME = 256  # characters, as of the identity of a device
ELSEWHERE = "firmware: needs the lab's own process: make it here with Lab(…)"


class FirmwareRun(Handle):
    """A program on lab time: a Linux process beside the lab, with the processes that it starts."""

    def __init__(self, runtime: Runtime, run: ProgramRun) -> None:
        self._runtime = runtime
        self._control = runtime.control.firmware
        self._run = run

    @property
    def identity(self) -> str:
        """Name of the run: of its records in the journal, `firmware/t-001`."""
        return self._run.name

    @property
    def seed(self) -> int:
        """Seed of all chance of the program."""
        return self._run.seed

    @property
    def cwd(self) -> Path:
        """Folder in which it starts; with `fresh=True` one of its own, which `stop` and the end of the lab remove."""
        return self._run.cwd

    @property
    def output(self) -> list[OutputLine]:
        """Lines that it printed, each with its lab time; the last 20,000."""
        return self._runtime.run(self._control.output, self._run)

    @property
    def ended(self) -> ProgramEnd | None:
        """Manner and time of its end; None while it runs."""
        return self._run.ended

    @property
    def pid(self) -> int | None:
        """Process id on this system, for `kill` and `gdb -p`; None while it does not run.

        The program has an id of its own, drawn from the seed, in a PID namespace where the system allows one.
        """
        return self._run.pid

    def kill(self) -> None:
        """End the program at once, as SIGKILL does. The platform sees its connections end."""
        self._runtime.run(self._control.kill, self._run)

    def restart(self, down: float = 0) -> None:
        """End the program at once, and start it again. down: seconds of lab time until then."""
        self._runtime.run(self._control.restart, self._run, down)

    def power_cut(self, down: float | None = 30) -> None:
        """Cut the power of the device: the platform sees no end of its connections, but silence.

        They stay open until the platform ends them, at most two hours. down: seconds of lab time until the program
        starts again; None: it stays off until `restart`. Raises LabError where the system forbids it.
        """
        self._runtime.run(self._control.power_cut, self._run, down)

    def stop(self) -> None:
        """End the program for good; the end of the lab does so, too. Its output stays."""
        self._runtime.run(self._control.stop, self._run)

    def __repr__(self) -> str:
        state = "runs" if self.ended is None else str(self.ended)
        printed = counted(len(self._run.output.lines), "line")
        return f"<firmware {self.identity}: {self._run.program} {state}, {printed} printed>"


class LabFirmware(Handle, Generic[L]):
    """Programs of a user that live on lab time: `lab.firmware(["./client", "t-001"])` starts one."""

    def __init__(self, runtime: Runtime, make: Callable[..., L]) -> None:
        self._runtime = runtime
        self._make = make

    def __call__(
        self,
        command: Sequence[str | Path],
        *,
        identity: str | None = None,
        seed: int | None = None,
        env: Mapping[str, str | None] | None = None,
        cwd: str | Path | None = None,
        fresh: bool = False,
        ends: bool = False,
    ) -> FirmwareRun:
        """Start a program for Linux on lab time, and return its run: `lab.firmware(["./client", "t-001"])`.

        It takes its time from the lab, trusts its CA, finds its names (port 443 is the lab's), and its waits last as
        long as `lab.clock.advance`, a story or a fleet lets lab time pass. Time moves only while all its threads wait.

        command: the program and its arguments; identity: name of the run, by default that of the program; seed: of all
        chance, by default drawn from the lab's seed and the name; env: further variables of its environment, None to
        clear one; cwd: folder in which it starts, by default the current one; fresh: whether it starts in an empty
        folder instead, which stays over restarts and is removed with the run: words of the command that are files of
        the current folder lead to these. ends: whether its end is expected. Otherwise each call that moves the clock
        raises FirmwareError after it, until the run is restarted or stopped; as it does for a program that spins, is
        stopped, waits in a way that the lab does not know, or does not trust the CA. The error has its last lines.
        """
        words = _words(command)
        folder = _folder(cwd, fresh)
        if folder is None:
            words = [whole_path(each, is_program=not number) for number, each in enumerate(words)]
        runtime = self._runtime
        try:
            start = runtime.control.firmware.start
            run = runtime.run(start, words, _identity(identity), _seed(seed), _variables(env), folder, ends)
        except OwnProcessError:
            raise OwnProcessError(ELSEWHERE) from None
        if not run.has_own_pids:
            _warn_of_pids()
        return FirmwareRun(runtime, run)

    @property
    def runs(self) -> dict[str, FirmwareRun]:
        """Runs of all programs by their identities, also of those that have ended and were not stopped."""
        try:
            found = self._runtime.run(self._runtime.control.firmware.all)
        except OwnProcessError:
            raise OwnProcessError(ELSEWHERE) from None
        return {each.name: FirmwareRun(self._runtime, each) for each in found}

    def twice(
        self, story: Callable[[L], object], *, seed: int | None = None, **settings: Any
    ) -> JournalDifference:
        """Play a story in two fresh labs, and return the first difference of their journals: `twice(week)`.

        story: a function that gets the lab, adds its products and programs, and lets time pass; seed: of both labs, by
        default that of this lab; settings: further arguments of `Lab`. The result shows the first record that differs,
        or that there is none; `is_worse` is whether there is one. Raises LabError if a journal has dropped records,
        which could not be compared, and what the story raises.
        """
        seed = self._runtime.seed if seed is None else _seed(seed)
        if seed is None:
            raise LabError("twice: needs a seed, as in twice(story, seed=7)")
        texts = []
        for name in ("first", "second"):
            with self._make(seed, **settings) as lab:
                story(lab)
                texts.append(JournalText.whole(name, lab.journal.canonical(), lab.journal.dropped, "twice"))
        return JournalDifference.of(*texts)

    def __repr__(self) -> str:
        return "<firmware: programs on lab time>"


@cache
def _warn_of_pids() -> None:
    """Warn, once in this process, that a seed does not repeat process ids."""
    warn(
        "firmware: programs have process ids of the system, which differ from run to run, since it allows no PID "
        "namespaces: root in a container needs CAP_SYS_ADMIN, other users namespaces of users "
        "(user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)"
    )


def _words(command: object) -> list[str]:
    if isinstance(command, str | Path) or not isinstance(command, Sequence) or not command:
        raise LabError(
            f"firmware: expected a program and its arguments, as in ['./client', 't-001'], not {command!r:.100}"
        )
    for each in command:
        if not isinstance(each, str | Path) or "\0" in str(each):
            raise LabError(f"firmware: expected texts as arguments of the program, not {each!r:.100}")
    return [os.fspath(each) for each in command]


def _folder(cwd: object, fresh: object) -> Path | None:
    """Return the folder in which a program starts, None for an empty one."""
    if not isinstance(fresh, bool):
        raise LabError(f"fresh: expected True or False, not {fresh!r:.100}")
    if cwd is None:
        return None if fresh else Path.cwd()
    if fresh:
        raise LabError("cwd: goes without fresh=True, which starts the program in an empty folder")
    if not isinstance(cwd, str | Path):
        raise LabError(f"cwd: expected the path of a folder, not {cwd!r:.100}")
    folder = Path(cwd).absolute()
    if not folder.is_dir():
        raise LabError(f"cwd: there is no folder {str(folder)!r}")
    return folder


def _identity(identity: object) -> str | None:
    if identity is None:
        return None
    if not isinstance(identity, str) or not identity.isprintable() or not 0 < len(identity) <= LONGEST_NAME:
        size = f" of {len(identity)} characters" if isinstance(identity, str) else ""
        raise LabError(
            f"identity: expected a name of 1 to {LONGEST_NAME} characters without line breaks, not "
            f"{identity!r:.100}{size}"
        )
    return identity


def _variables(env: object) -> dict[str, str | None]:
    if env is None:
        return {}
    if not isinstance(env, Mapping):
        raise LabError(f"env: expected a dict of names and texts, not {env!r:.100}")
    for name, value in env.items():
        if not isinstance(name, str) or not name or "=" in name or not isinstance(value, str | None):
            raise LabError(
                f"env: expected names and texts, or None for a variable to clear, not {name!r:.50}: {value!r:.50}"
            )
    return dict(env)


def _seed(seed: object) -> int | None:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise LabError(f"seed: expected a whole number, not {seed!r:.100}")
    return seed
