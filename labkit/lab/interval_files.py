"""Files with a row for each interval of a run, which grow while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from labkit.core.errors import SettingsError
from labkit.core.extras import check_installed
from labkit.fleet.measures import Tick, frame

OFTEN = 0.5  # real seconds between two writes: a virtual clock has hundreds of intervals a second


class IntervalFile:
    """A file of intervals. option: by which it was given.

    A write that fails ends it, and `end` raises what was wrong: the run goes on.
    """

    def __init__(self, option: str, path: Path) -> None:
        self._option = option
        self._path = path
        self._device = path.absolute().parts[1:2] in (("dev",), ("proc",))  # such as /dev/stdout
        self._written = 0  # intervals
        self._last = float("-inf")
        self._error: OSError | None = None
        if not path.parent.is_dir():  # before the run, not after it
            raise SettingsError(f"{option}: {path}: there is no folder {path.parent}")

    def update(self, ticks: Sequence[Tick]) -> None:
        """Write the intervals that the file lacks, unless it was written a moment ago or is a device."""
        if not self._device and time.monotonic() - self._last >= OFTEN:
            self._update(ticks)

    def end(self, ticks: Sequence[Tick]) -> None:
        """Write all that the file lacks. Raises SettingsError where it could not be written."""
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
        """Write these intervals, of which the file has the first `written`."""
        raise NotImplementedError

    def _replace(self, write: Callable[[Path], object]) -> None:
        """Write a file beside this one, and put it in its place: whoever reads finds a whole one."""
        target = self._path.resolve()
        beside = target.with_name(f".{target.name}.new")
        write(beside)
        beside.replace(target)


class CsvFile(IntervalFile):
    """A CSV file: rows are appended; a column that is new, of an error's first kind, writes it anew.

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
    """A Parquet file, whole at each moment: its table of contents is at its end. Raises LabError without pandas
    and pyarrow.
    """

    def __init__(self, path: Path) -> None:
        super().__init__("--parquet", path)
        check_installed("parquet", "--parquet takes", "pandas", "pyarrow")

    def _write(self, ticks: Sequence[Tick], written: int) -> None:
        self._replace(frame(ticks).to_parquet)
