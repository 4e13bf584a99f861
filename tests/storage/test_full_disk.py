"""A disk that becomes full while an old data file is upgraded: the file stays as it was, and one line says why."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from labkit.storage.upgrades import VERSION
from tests.rig import ran
from tests.storage.test_data_file import OLD, ROOT, after_kill, contents, write

SOURCE = Path(__file__).with_name("full_disk.c")
UPGRADED = """
import ctypes, json, os, sys
from labkit.storage.database import Database
from labkit.core.errors import SettingsError
from tests.storage.things import tables

for file in sys.argv[1:]:
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
        continue
    ctypes.CDLL(None).set_room(int(os.path.basename(os.path.dirname(file))))
    try:
        Database(file).start(tables)
    except SettingsError as error:
        print(json.dumps([file, str(error)]), flush=True)
    os._exit(0)
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("cc"), reason="needs Linux and a C compiler"
)


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Library that is loaded into a process, and gives its data file a limited room."""
    library = tmp_path_factory.mktemp("full") / "full_disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    return str(library)


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_a_full_disk_leaves_the_old_file_and_says_so(tmp_path: Path, full_disk: str, journal: str) -> None:
    """With little room the upgrade fails, and with more it is done. In between it may succeed, and the start fail."""
    source = tmp_path / "source.db"
    write(source, OLD)
    write(source, f"INSERT INTO thing VALUES ('{'x' * 60_000}', 3); PRAGMA journal_mode={journal}")
    files = [tmp_path / str(room) / "lab.db" for room in range(0, 250_000, 6_001)]
    for each in files:
        each.parent.mkdir()
        shutil.copy(source, each)
    before = contents(files[0].parent)
    ended = ran(
        sys.executable,
        "-c",
        UPGRADED,
        *files,
        cwd=ROOT,
        env=os.environ | {"LD_PRELOAD": full_disk},
        check=True,
    )
    assert ended.stderr == ""
    said = dict(json.loads(line) for line in ended.stdout.splitlines())
    outcomes: Counter[str] = Counter()
    for file in files:
        line = said.get(str(file), "")
        if line == (
            f"data: cannot upgrade {file} from version 0 to {VERSION}: database or disk is full; the file is unchanged"
        ):
            outcomes["unchanged"] += 1
            assert contents(file.parent) == before
            assert after_kill(file) == (0, 7)  # and with room again, it is upgraded
        elif line:
            outcomes["upgraded"] += 1
            assert line == f"data: cannot use {file}: database or disk is full"
            assert after_kill(file) == (VERSION, 7)
        else:
            outcomes["started"] += 1
            assert after_kill(file) == (VERSION, 8)
    assert outcomes["unchanged"] > 5, outcomes
    assert outcomes["started"] > 5, outcomes
