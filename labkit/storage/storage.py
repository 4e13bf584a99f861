"""The data file of a lab: its path, its permissions, and its errors."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from labkit.core.errors import SettingsError, StorageError

FULL = 507  # status: the server has no room to store it (RFC 4918 11.5)
DAMAGED = 500
PRIMARY = 0xFF  # mask of the primary result code in SQLite's extended one
_UNWRITABLE = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR}
)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_UNREADABLE = frozenset(
    {sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS}
)


def beside(path: Path) -> tuple[Path, Path, Path]:
    """Return the files that SQLite may keep beside a data file."""
    return Path(f"{path}-wal"), Path(f"{path}-shm"), Path(f"{path}-journal")


def create_private(path: Path) -> bool:
    """Create the file for its owner only, and return True, if there is none.

    SQLite gives its own files beside it the same mode.

    An existing file is not opened, since closing it would release the locks of another lab in this process.
    """
    with suppress(OSError):  # it exists; or SQLite's error says more about a file that cannot be created
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        return True
    return False


def keep_private(path: Path) -> None:
    """Restrict an existing file and SQLite's files beside it to their owner."""
    for each in (path, *beside(path)):
        with suppress(OSError):  # it does not exist, or is another user's
            each.chmod(0o600)


def path_of(url: str | Path | None) -> Path | None:
    """Return the data file of a URL, None for memory. Raises SettingsError for another kind of database."""
    if url is None:
        return None
    text = str(url)
    if text.startswith("sqlite:///"):
        return Path(text.removeprefix("sqlite:///"))
    if "://" in text:
        raise SettingsError(
            f"data: {text.split('://')[0]}:// is not supported, expected a file or sqlite:///…"
        )
    return Path(text)


def storage_error(path: Path, error: BaseException) -> StorageError | None:
    """Return an exception about the data file as StorageError; None for an unrelated exception."""
    error = getattr(error, "orig", error)  # below SQLAlchemy's own
    code = getattr(error, "sqlite_errorcode", None)
    if not isinstance(code, int):
        return None
    if code & PRIMARY in _DAMAGED:
        return StorageError(DAMAGED, f"the data file {path} is damaged: {error}")
    if code in _UNREADABLE:
        return StorageError(DAMAGED, f"the data file {path} cannot be read: {error}")
    if code & PRIMARY in _UNWRITABLE:
        return StorageError(FULL, f"no room for the data file {path}, nothing was stored: {error}")
    return None


def damaged(path: Path, found: object) -> SettingsError:
    """Return the error for a file that is damaged when it is opened."""
    return SettingsError(
        f"data: {path} is damaged: {found}; expected an intact file: restore it from a copy, or name a new one"
    )


def unusable(path: Path | None, error: BaseException) -> SettingsError:
    """Return the error for a file that SQLite cannot open or prepare."""
    cause = getattr(error, "orig", error)
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None and code & PRIMARY == sqlite3.SQLITE_CORRUPT and path is not None:
        return damaged(path, cause)
    reason = "another lab has it open" if code == sqlite3.SQLITE_BUSY else cause
    return SettingsError(f"data: cannot use {path}: {reason}")


def expect_intact(path: Path, raw: sqlite3.Connection) -> None:
    """Check the whole file. Raises SettingsError where a part of it is damaged, or sqlite3.Error."""
    found = raw.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise damaged(path, " ".join(str(found).split()))


def _identity(place: str) -> tuple[int, int] | None:
    """Return device and inode of a file, None without one."""
    try:
        status = os.stat(place)  # noqa: PTH116  with each commit: a Path takes 18 calls for it
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Storage:
    """State of a data file in use. path: None for memory, which is never reported.

    full: whether a write found no room, until one succeeds. reports: called with a text when the file is out of
    room, has room again, or is damaged.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._places = () if path is None else (str(path), str(beside(path)[0]))  # the file and its log
        self._opened: list[tuple[int, int] | None] = []
        self._damaged = False
        self.full = False
        self.reports: tuple[Callable[[str], object], ...] = ()

    def failure(self, error: BaseException) -> BaseException:
        """Return the exception to raise for `error`: a StorageError where the file is the cause.

        The first of its kind is reported.
        """
        found = None if self._path is None else storage_error(self._path, error)
        if found is None:
            return error
        found.__cause__ = error
        if found.status == FULL:
            known, self.full = self.full, True
        else:
            known, self._damaged = self._damaged, True
        if not known:
            self._report(str(found))
        return found

    def opened(self) -> None:
        """Remember which file and which log are in use."""
        self._opened, self._damaged = self._found(), False

    def gone(self) -> StorageError | None:
        """Return the error of a write into a file or a log that was deleted or replaced; None for one in its place."""
        if self._path is None or self._found() == self._opened:
            return None
        text = f"the data file {self._path} was deleted or replaced while it is in use, nothing was stored"
        if not self._damaged:
            self._damaged = True
            self._report(text)
        return StorageError(DAMAGED, text)

    def is_log_of_another(self) -> bool:
        """Return whether another database's log is in the place of this one's, which closing would delete."""
        log = self._found()[1:]
        return log != [None] and log != self._opened[1:]

    def _found(self) -> list[tuple[int, int] | None]:
        return [_identity(each) for each in self._places]

    def written(self) -> None:
        """Note a successful write, and report that there is room again."""
        if self.full:
            self.full = False
            self._report(f"there is room again for the data file {self._path}")

    def _report(self, text: str) -> None:
        for report in self.reports:
            report(text)
