"""Reloader of a running platform: compares lab.yaml and the solution folders with what runs, and takes over edits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from labkit.core.errors import LabError, LabkitError, SettingsError
from labkit.platform import Platform
from labkit.reload.running import Notes, RunningSettings
from labkit.reload.watching import watch
from labkit.settings import LabSettings
from labkit.solutions.folders import folder as folders

SECOND_LOOK = 0.1  # seconds of real time after which files with a problem are read again, before it is said

Say = Callable[[str], None]


class Reloader:
    """Comparison of the files of a lab with what its platform runs.

    file: lab.yaml; read: returns the settings in it; say: called with each line about a change or a problem.
    """

    def __init__(self, platform: Platform, file: Path, read: Callable[[], LabSettings], say: Say) -> None:
        self._platform = platform
        self._file = file
        self._read = read
        self._say = say
        self._running = RunningSettings(platform)
        self._found = platform.context.settings  # in lab.yaml, where not all of it need run
        self._problems: dict[str, str] = {}  # of the last lab.yaml that could be read
        self._notes = Notes()

    def folders(self) -> set[Path]:
        """Return the folders of the solutions that run, and of those in lab.yaml."""
        wanted = [*(each.settings for each in self._platform.solutions), *self._found.solutions]
        return {path for each in wanted for path in each.path}

    async def look(self) -> None:
        """Read all files, take over what has changed, and say it. What is wrong in them is said once."""
        notes = await self._take_over()
        if notes.problems.keys() - self._notes.problems.keys():  # perhaps of a file that is being written
            await asyncio.sleep(SECOND_LOOK)
            done = notes.done
            notes = await self._take_over()
            notes.done = {**done, **notes.done}
        for line in notes.lines(self._notes):
            self._say(f"reload: {line}")
        self._notes = notes

    async def _take_over(self) -> Notes:
        """Read all files and take over what has changed. Returns what that has brought."""
        try:
            return await self._platform.context.whole.run(self._look_again)
        except LabError as error:  # the lab has stopped
            notes = Notes()
            notes.problems = {str(self._file): str(error)}
            return notes

    async def _look_again(self) -> Notes:
        notes = Notes()
        try:
            self._found = await asyncio.to_thread(self._read)
        except SettingsError as error:
            text = str(error).removeprefix(f"{self._file}: ")
            notes.problems |= {**self._problems, str(self._file): f"{text}; what runs stays"}
        else:
            await self._running.change(self._found, notes)
            self._problems = dict(notes.problems)
        for id in [each.id for each in self._platform.solutions if each.settings.path]:
            await self._look_at_folder(id, notes)
        return notes

    async def _look_at_folder(self, id: str, notes: Notes) -> None:
        """Reload a solution if its folder has other contents than it runs."""
        try:
            solution = self._platform.solutions.get(id)
            if await asyncio.to_thread(folders.read, *solution.settings.path) == solution.folder:
                return
            await self._platform.solutions.replace(solution.settings, keep=True)
            notes.done[f"solution {id}"] = "runs its new files"
        except LabkitError as error:
            notes.problems.setdefault(f"solution {id}", f"{error}; the old one stays")


@asynccontextmanager
async def reloading(
    platform: Platform, file: Path, read: Callable[[], LabSettings], say: Say
) -> AsyncIterator[None]:
    """Take over edits of a lab.yaml and its solution folders within the block; the platform must have been started.

    read: returns the settings of lab.yaml; say: called with each line about a change or a problem.
    """
    reloader = Reloader(platform, file, read, say)

    async def run() -> None:
        try:
            await watch(file, reloader.folders, reloader.look)
        except* Exception as errors:  # noqa: BLE001  such as too few inotify watches: the platform serves on
            say(f"reload: ends, no further edits are taken over: {errors.exceptions[0]}")

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
