"""Files of intervals: they grow during a run, and are complete at each moment."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from labkit.core import extras
from labkit.core.errors import LabError, SettingsError
from labkit.fleet.measures import Measures, Tick, frame
from labkit.lab import interval_files
from labkit.lab.interval_files import CsvFile, ParquetFile
from tests.rig import ran

BEGAN = 1_767_225_600.0


def ticks(count: int) -> list[Tick]:
    """Return intervals, of which the later ones have further kinds of errors, and some a lag."""
    measures, made = Measures(), []
    for number in range(count):
        measures.answered(503 if number > 3 else 200, 0.1 * number)
        if number == 6:
            measures.unanswered("cut")
        made.append(measures.tick(BEGAN + number, {"running": number}, 0.5 if number in (2, 5) else None))
    return made


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_files, "WRITE_INTERVAL", 0.0)


def test_a_csv_file_is_the_frame_so_far_after_each_interval(tmp_path: Path) -> None:
    path, every = tmp_path / "x.csv", ticks(9)
    path.write_text("of a run before")
    file = CsvFile(path)
    for number in range(1, 10):
        file.update(every[:number])
        assert len(path.read_text().splitlines()) == 1 + number
    file.end(every)
    assert path.read_text() == frame(every).to_csv()
    assert list(tmp_path.iterdir()) == [path]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "x.csv").symlink_to(tmp_path / "there.csv")
    CsvFile(tmp_path / "x.csv").end(ticks(5))
    assert (tmp_path / "x.csv").is_symlink()
    assert (tmp_path / "there.csv").read_text() == frame(ticks(5)).to_csv()


def test_a_path_that_is_no_regular_file_can_be_written_to(capfd: pytest.CaptureFixture[str]) -> None:
    file = CsvFile(Path("/dev/stdout"))
    file.end(ticks(3))
    assert capfd.readouterr().out == frame(ticks(3)).to_csv()


def test_a_failing_write_is_raised_only_at_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    file = CsvFile(folder / "x.csv")
    folder.rmdir()
    file.update(ticks(1))
    file.update(ticks(2))
    with pytest.raises(SettingsError, match=r"--csv: .*x\.csv: "):
        file.end(ticks(3))


def test_without_pyarrow_a_parquet_file_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pyarrow" else find_spec(name))
    with pytest.raises(LabError, match=r"--parquet takes pyarrow: pip install 'labkit\[parquet\]'"):
        ParquetFile(tmp_path / "x.parquet")


def test_a_parquet_file_is_the_frame_so_far_after_each_interval(tmp_path: Path) -> None:
    """In a process of its own, the only one that loads pyarrow, since pandas uses it wherever it is loaded."""
    folder = os.environ.get("LABKIT_PYARROW_FOLDER", "")
    if not folder and find_spec("pyarrow") is None:
        pytest.skip(
            "pyarrow is not installed, and LABKIT_PYARROW_FOLDER names no folder that it was installed into"
        )
    path = os.pathsep.join([str(Path(__file__).parents[2]), folder])
    story = (
        "import sys; from tests.lab.test_interval_files import write_and_read; write_and_read(sys.argv[1])"
    )
    written = ran(
        sys.executable, "-W", "error", "-c", story, tmp_path, env={**os.environ, "PYTHONPATH": path}
    )
    assert (written.returncode, written.stderr) == (0, "")


def write_and_read(folder: str) -> None:
    """Write a Parquet file in `folder` interval by interval, and read it after each."""
    import pandas

    path, every = Path(folder) / "x.parquet", ticks(9)
    interval_files.WRITE_INTERVAL = 0.0
    file = ParquetFile(path)
    for number in range(1, 10):
        file.update(every[:number])
        pandas.testing.assert_frame_equal(pandas.read_parquet(path), frame(every[:number]), check_freq=False)
    file.end(every)
    assert list(path.parent.iterdir()) == [path]
