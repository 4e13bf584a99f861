"""Files with a row for each interval of a run, updated while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from labkit.core.errors import SettingsError
from labkit.core.extras import check_installed
from labkit.fleet.measures import Tick, frame

WRITE_INTERVAL = 0.5  # real seconds between two writes: a virtual clock has hundreds of intervals per second


class IntervalFile:
    """A file of intervals. option: the command-line option that named it.

    After a failed write nothing more is written and the run continues; `end` raises the error.
    """

    def __init__(self, option: str, path: Path) -> None:
        self._option = option
        self._path = path
        self._device = path.absolute().parts[1:2] in (("dev",), ("proc",))  # such as /dev/stdout
        self._written = 0  # number of intervals
        self._last = float("-inf")
        self._error: OSError | None = None
        if not path.parent.is_dir():  # before the run, not after it
            raise SettingsError(f"{option}: {path}: there is no folder {path.parent}")

    def update(self, ticks: Sequence[Tick]) -> None:
        """Write the missing intervals, unless the file was written less than half a second ago or is a device."""
        if not self._device and time.monotonic() - self._last >= WRITE_INTERVAL:
            self._update(ticks)

    def end(self, ticks: Sequence[Tick]) -> None:
        """Write all missing intervals. Raises SettingsError if a write failed."""
        self._update(ticks)
        if self._error is not None:
            reason = self._error.strerror or self._error
            raise SettingsError(f"{self._option}: {self._path}: {reason}") from self._error

    def _update(self, ticks: Sequence[Tick]) -> None:
        if self._error is not None or len(ticks) == self._written > 0:
            return
        try:
            self._write(ticks, self._written)
        except OSError as error:
            self._error = error
        self._written, self._last = len(ticks), time.monotonic()

    def _write(self, ticks: Sequence[Tick], written: int) -> None:
        """Write intervals, of which the file already has the first `written`."""
        raise NotImplementedError

    def _replace(self, write: Callable[[Path], object]) -> None:
        """Write a temporary file and rename it, so that readers always find a complete one."""
        target = self._path.resolve()
        beside = target.with_name(f".{target.name}.new")
        write(beside)
        beside.replace(target)


class CsvFile(IntervalFile):
    """A CSV file, to which rows are appended; the first error of a new kind adds a column, so the file is rewritten.

    Raises LabError without pandas.
    """

    def __init__(self, path: Path) -> None:
        super().__init__("--csv", path)
        check_installed("tables", "--csv takes", "pandas")
        self._columns: list[str] = []

    def _write(self, ticks: Sequence[Tick], written: int) -> None:
        if self._device:
            frame(ticks).to_csv(self._path, mode="a")
            return
        rows = frame(ticks[written:])
        if not written or not set(rows.columns) <= set(self._columns):
            whole = frame(ticks)
            self._columns = list(whole.columns)
            self._replace(whole.to_csv)
        else:
            for name in self._columns:
                if name not in rows:
                    rows[name] = float("nan") if name == "lag" else 0
            rows[self._columns].to_csv(self._path, mode="a", header=False)


class ParquetFile(IntervalFile):
    """A Parquet file, rewritten as a whole since its table of contents is at its end.

    Raises LabError without pandas and pyarrow.
    """

    def __init__(self, path: Path) -> None:
        super().__init__("--parquet", path)
        check_installed("parquet", "--parquet takes", "pandas", "pyarrow")

    def _write(self, ticks: Sequence[Tick], written: int) -> None:
        self._replace(frame(ticks).to_parquet)
