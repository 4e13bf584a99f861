"""Data files that earlier labkits wrote: each opens in this one, with everything in it."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from labkit.storage.upgrades import VERSION
from tests.lab.data.whole_lab import FOLDER, contents, whole_lab

FILES = sorted(FOLDER.glob("lab-*.db"))


def schema(file: Path) -> dict[str, str]:
    """Return the SQL of all tables and indexes by name, without differences of spaces and quotes."""
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: re.sub(r'[\s"]+', "", sql) for name, sql in rows}


@pytest.mark.parametrize("stored", FILES, ids=[file.stem for file in FILES])
def test_a_stored_file_opens_with_everything_in_it(stored: Path, tmp_path: Path) -> None:
    expected = json.loads(stored.with_suffix(".json").read_text())
    file = Path(shutil.copy(stored, tmp_path / "lab.db"))
    opened = whole_lab(file)
    with opened[0]:
        found = json.loads(json.dumps(contents(*opened, expected["kept"])))
        assert {name: found[name] for name in expected["contents"]} == expected["contents"]
    new = tmp_path / "new.db"
    whole_lab(new)[0].close()
    assert schema(file) == schema(new)


def test_series_of_an_earlier_file_have_their_tags_and_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, _, acme = whole_lab(Path(shutil.copy(FOLDER / "lab-1.3.0.db", tmp_path / "lab.db")))
    with lab:
        assert acme.Tsdb.listTags()["tags"] == {"sn": ["t-001"]}
        assert len(acme.Tsdb.recent(metrics="temperature", tags={"sn": "t-001"})["values"]) == 1
        monkeypatch.setattr("labkit.services.series.store.MOST_SERIES", 3)
        acme.Tsdb.write(metrics={"third": 1})
        assert acme.Tsdb.write(metrics={"fourth": 1})["status"] == 403


def test_each_table_of_the_newest_stored_file_has_a_row() -> None:
    with closing(sqlite3.connect(FILES[-1])) as connection:
        names = [name for [name] in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        empty = [name for name in names if not connection.execute(f"SELECT 1 FROM {name}").fetchone()]
    assert empty == []


def test_the_tables_of_a_version_never_change(tmp_path: Path) -> None:
    """Fails after a change of a table without a step in labkit/storage/upgrades.py; a new table needs none."""
    whole_lab(tmp_path / "new.db")[0].close()
    with closing(sqlite3.connect(FILES[-1])) as connection:
        [version] = connection.execute("PRAGMA user_version").fetchone()
    assert version == VERSION, "store a file of this version: tests/lab/data/whole_lab.py"
    assert schema(FILES[-1]).items() <= schema(tmp_path / "new.db").items()
