"""Stories as tests, in a project outside of the checkout: marker, options, reports."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig import ran
from tests.testing.test_plugin import run

FILE = "test_stories.py"
REPORT = r"""_+ sells _+
broken: the story's own checks \(play \d+\): sold out \(test_stories\.py:22\)
  smallest of \d+ plays, in \d+\.\d s: seed \d+
  drawn: count 7

hunt of sells: \d plays? in \d+\.\d s, \d+\.\d a second; level calm; the last new thing in play 0
-+ the story's own checks: repeat it -+
repeat it: labkit hunt --replay failures/test_sells_\w{8}\.py
look at it: failures/test_sells_\w{8}\.html
pytest test_stories\.py::sells plays this file first; this repeats its smallest play:
play\(
    sells,
    seed=\d+,
    values=\[
        \("count", 7\),
    \],
\)
-+ the story's own checks: the journal's last records -+
2026-01-01 00:00:00\.000 call 200 shop Keystore\.set
"""


@pytest.mark.timeout(300)
def test_stories_are_tests_with_reports(tmp_path: Path) -> None:
    ended = run(tmp_path, "-q", "-W", "error", "--strict-markers", FILE)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert re.search(REPORT, ended.stdout), ended.stdout
    assert "4 failed, 3 passed" in ended.stdout
    assert re.search(
        r"broken: no_unexpected_status \(play 0; also broken in calm.*; promised in test_stories\.py:\d+\): .*404",
        ended.stdout,
    )
    assert '("path", "/a"),' in ended.stdout  # the first option is the simplest
    assert "@pytest.mark.hunt: no argument 'sedes', there are: seeds, " in ended.stdout
    assert "@pytest.mark.hunt: expected seeds=… and the like, not 3" in ended.stdout
    assert "hidden" not in ended.stdout
    assert "no_test" not in ended.stdout


@pytest.mark.timeout(300)
def test_options_limit_the_plays(tmp_path: Path) -> None:
    seeds = run(tmp_path, "-q", "--hunt-seeds", "3", f"{FILE}::test_kept", f"{FILE}::test_refused")
    assert re.search(r"hunt of test_refused: 1 play in", seeds.stdout)
    assert "1 failed, 1 passed" in seeds.stdout
    kept = run(tmp_path, "-q", "--hunt-time", "1s", "-k", "kept", FILE)
    assert (kept.returncode, "2 passed" in kept.stdout) == (0, True)


def test_markers_select_stories(tmp_path: Path) -> None:
    ended = run(tmp_path, "-q", "--collect-only", "-m", "hunt", FILE)
    assert ended.stdout.split("\n\n")[0].splitlines() == [
        f"{FILE}::{name}" for name in ("sells", "test_kept", "wrong", "wrong_too", "TestShop::kept")
    ]


NO_STORY = """
import pytest
from labkit.hunt import story

@pytest.mark.hunt(seeds=3)
{}def sells(lab, draw):
    assert draw.chance(1)
"""


@pytest.mark.parametrize("name", ["sells", "test_sells"])
def test_a_marker_without_a_story_is_an_error_of_the_collection(tmp_path: Path, name: str) -> None:
    file = tmp_path / "test_no_story.py"
    text = NO_STORY.replace("sells", name)
    file.write_text(text.format(""))
    ended = run(tmp_path, "-q", file.name)
    assert ended.returncode == 2
    assert (
        f"{file.name}:5: {name} has @pytest.mark.hunt, and is no story: expected @story of labkit.hunt"
        in ended.stdout
    )
    assert "Traceback" not in ended.stdout
    file.write_text(text.format("@story\n"))
    assert "1 passed" in run(tmp_path, "-q", file.name).stdout
    file.write_text(text.format("").replace("from labkit.hunt import story", ""))
    assert run(tmp_path, "-q", file.name).returncode == 2


MISSPELT_CALL = """
from labkit.hunt import story

@story
def test_stores(lab, draw):
    lab.solution("shop").route("GET", "/a", lua="Keystor.set{}")
    lab.solution("shop").get("/a")
"""


def test_misspelt_calls_are_among_the_warnings(tmp_path: Path) -> None:
    (tmp_path / "test_misspelt.py").write_text(MISSPELT_CALL)
    ended = run(tmp_path, "-q", "--hunt-seeds", "3", "test_misspelt.py")
    assert "1 passed, 1 warning" in ended.stdout
    assert "GET /a: Keystor.set: there is no service 'Keystor'; did you mean Keystore?" in ended.stdout
    assert "test_misspelt.py:4: LabWarning" in ended.stdout
    strict = run(tmp_path, "-q", "-W", "error", "test_misspelt.py")
    assert "1 failed" in strict.stdout


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--hunt-time", "soon", "'soon' is no duration such as 30s, 5m or 1h"),
        ("--hunt-seeds", "0", "expected a whole number above 0, not '0'"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, option: str, value: str, message: str) -> None:
    ended = run(tmp_path, option, value, FILE)
    assert ended.returncode == 4
    assert message in ended.stderr


BROKEN = """
import pytest
from labkit.hunt import always, story

LIMIT = 7


def sells(lab, draw):
    count = draw.number(1, 100, label="ä count")
    lab.solution("shop").Keystore.set(key="sold", value=str(count))
    assert count < LIMIT, "sold out"


@pytest.mark.hunt(seeds=30, level="calm")
@story
def test_sells(lab, draw):
    sells(lab, draw)


class TestShop:
    @pytest.mark.hunt(seeds=30, level="calm")
    @story
    def sells_too(lab, draw):
        sells(lab, draw)
"""
MISSPELT = """
import pytest
from labkit.hunt import story


@pytest.mark.hunt(seeds=3, level="calm")
@story
def test_misspelt(lab, draw):
    lab.solutoin("shop")
"""
MARKED = """
import pytest
from labkit.hunt import story


@pytest.mark.hunt(seeds=1, level="calm", failures=FOLDER)
@story
def test_breaks(lab, draw):
    assert lab.closed, "open"
"""


def broken(folder: Path, text: str = BROKEN, name: str = "test_broken.py") -> None:
    (folder / "of stories").mkdir(exist_ok=True)
    (folder / "of stories" / name).write_text(text, encoding="utf-8")


def written(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.sampled
@pytest.mark.timeout(300)
def test_a_failure_is_kept_and_played_first(tmp_path: Path) -> None:
    """By pytest and by `labkit hunt`, also that of a story of a class; pytest is started in another folder."""
    broken(tmp_path)
    first = run(tmp_path, "-q", "of stories")
    assert "2 failed" in first.stdout
    names = written(tmp_path / "failures")
    shapes = [re.sub(r"\w{8}(?=\.)", "", each) for each in names]
    assert shapes == [
        "test_sells_too_.html",
        "test_sells_too_.py",
        "test_test_sells_.html",
        "test_test_sells_.py",
    ]
    for name in names:
        assert f"failures/{name}" in first.stdout
    assert '("ä count", 7),' in (tmp_path / "failures" / names[1]).read_text(encoding="utf-8")

    files = [f"failures/{each}" for each in names if each.endswith(".py")]
    again = run(tmp_path, "-q", "of stories")
    assert "2 failed" in again.stdout
    assert again.stdout.count("not begun, since a past failure breaks again") == 2
    for each in files:
        assert (
            f"past failure: {each}: breaks again, byte for byte as written: the story's own checks: "
            in again.stdout
        )
        assert f"\nlabkit hunt --replay {each}\n" in again.stdout
    assert "call 200 shop Keystore.set" in again.stdout
    assert written(tmp_path / "failures") == names

    replayed = labkit(tmp_path, "hunt", "--replay", *files)
    assert (replayed.returncode, replayed.stdout.count("breaks again, byte for byte")) == (1, 2)
    hunted = labkit(tmp_path, "hunt", "of stories/test_broken.py::test_sells", "--workers", "0")
    assert "not begun" in hunted.stdout
    of_class = labkit(tmp_path, "hunt", "of stories/test_broken.py::TestShop::sells_too", "--workers", "0")
    assert f"past failure: {files[0]}: breaks again" in of_class.stdout

    broken(tmp_path, BROKEN.replace("LIMIT = 7", "LIMIT = 700"))
    assert "4 passed" in run(tmp_path, "-q", "of stories", "failures").stdout
    assert labkit(tmp_path, "hunt", "--replay", *files).returncode == 0


def labkit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "labkit", *arguments]
    return ran(*command, cwd=folder)


@pytest.mark.sampled
@pytest.mark.timeout(300)
def test_processes_of_xdist_write_one_folder_at_once(tmp_path: Path) -> None:
    """The same stories in several files, so that each failure is written by several processes, and replays."""
    broken(tmp_path)
    for number in range(4):
        text = "from test_broken import *\nfrom test_broken import TestShop as TestOther\n"
        broken(tmp_path, text, f"test_more_{number}.py")
    ended = run(tmp_path, "-q", "-n", "3", "of stories")
    assert re.search(r"1[0-9] failed", ended.stdout), ended.stdout
    names = written(tmp_path / "failures")
    assert len(names) == 4, names
    files = [f"failures/{each}" for each in names if each.endswith(".py")]
    assert labkit(tmp_path, "hunt", "--replay", *files).stdout.count("breaks again, byte for byte") == 2
    for each in names:
        if each.endswith(".html"):
            assert (tmp_path / "failures" / each).read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.mark.timeout(300)
def test_the_folder_is_that_of_the_option_before_that_of_the_marker(tmp_path: Path) -> None:
    broken(tmp_path, MARKED.replace("FOLDER", "'kept/ä'"), "test_one.py")
    broken(tmp_path, MARKED.replace("FOLDER", "None"), "test_none.py")
    marked = run(tmp_path, "-q", "of stories")
    assert "2 failed" in marked.stdout
    assert len(written(tmp_path / "kept" / "ä")) == 2
    assert not (tmp_path / "failures").exists()
    assert "test_none.py::test_breaks' repeats the hunt; this repeats its smallest play:" in marked.stdout
    optional = run(tmp_path, "-q", "of stories", "--hunt-failures", "other")
    assert "2 failed" in optional.stdout
    assert "not begun" not in optional.stdout
    assert len(written(tmp_path / "other")) == 4


@pytest.mark.timeout(300)
def test_an_error_of_own_code_is_not_kept(tmp_path: Path) -> None:
    broken(tmp_path, MISSPELT)
    for _ in range(2):
        ended = run(tmp_path, "-q", "of stories")
        assert "1 failed" in ended.stdout
        assert (
            "not kept as a past failure: an error of the story's own code; mend it, and hunt again"
            in ended.stdout
        )
        assert "hunt of test_misspelt: 1 play in" in ended.stdout
        [page] = written(tmp_path / "failures")
        assert f"look at it: failures/{page}" in ended.stdout
