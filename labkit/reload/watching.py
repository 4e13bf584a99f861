"""Watcher of a file and of folders, which notices each edit however an editor saves it.

Events of the system only say that something has changed; the caller compares what it reads. A folder that is replaced
as a whole, and a link that leads elsewhere, are noticed at the next look at the folders.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from pathlib import Path

from watchfiles import Change, awatch

LOOK = 1.0  # seconds of real time between two looks whether a folder is still the one that is watched
QUIET = 100  # milliseconds without an event after which a burst of edits is over

Identity = tuple[str, int, int]  # resolved path, device and inode of a folder
Watched = dict[Path, Identity | None]  # folders, None for one that does not exist


async def watch(
    file: Path, folders: Callable[[], Collection[Path]], changed: Callable[[], Awaitable[None]]
) -> None:
    """Call `changed` once the watching has begun, and after each edit, until this is cancelled.

    folders: those to watch with everything below them, asked again after each edit. Raises OSError where the system
    cannot watch.
    """
    while True:
        homes, below = _identities(_homes(file)), _identities(folders())
        woken = asyncio.Event()
        files = frozenset(str(_resolved(each.parent) / each.name) for each in (file, _resolved(file)))
        async with asyncio.TaskGroup() as group:
            watchers = [
                group.create_task(_wake(woken, homes, files)),
                group.create_task(_wake(woken, below)),
            ]
            await asyncio.sleep(0)  # both watch from here on: `changed` sees what was edited before
            woken.set()
            while not any(each.done() for each in watchers) and (homes, below) == (
                _identities(_homes(file)),
                _identities(folders()),
            ):
                if woken.is_set():
                    woken.clear()
                    await changed()
                else:
                    await _within(LOOK, woken)
            for each in watchers:
                each.cancel()


async def _within(seconds: float, event: asyncio.Event) -> None:
    """Return when an event is set, or after some seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass


async def _wake(woken: asyncio.Event, folders: Watched, files: Collection[str] = ()) -> None:
    """Set an event at each change of anything below folders, or of these files in them, until a folder is deleted."""
    roots = {known[0] for known in folders.values() if known is not None}
    if not roots:
        await asyncio.Future()
    try:
        async for changes in awatch(*roots, watch_filter=None, step=QUIET, recursive=not files):
            if not files or any(path in files for _, path in changes):
                woken.set()
            if any(change is Change.deleted and path in roots for change, path in changes):
                return
    except FileNotFoundError:  # it was deleted before the watching has begun
        await asyncio.sleep(LOOK)


def _homes(file: Path) -> set[Path]:
    """Return the folders of a file, and of the file that it links to."""
    return {file.parent, _resolved(file).parent}


def _identities(folders: Iterable[Path]) -> Watched:
    return {each: _identity(each) for each in folders}


def _identity(folder: Path) -> Identity | None:
    try:
        resolved = folder.resolve(strict=True)
        found = resolved.stat()
    except (OSError, RuntimeError):  # RuntimeError: a link to itself, in Python 3.12 and before
        return None
    return str(resolved), found.st_dev, found.st_ino


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()
