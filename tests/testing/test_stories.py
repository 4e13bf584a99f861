"""Stories as tests, in a project outside of the checkout: marker, options, reports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.testing.test_plugin import run

FILE = "test_stories.py"
REPORT = r"""_+ sells _+
broken: the story's own checks \(play \d+\): sold out \(test_stories\.py:22\)
  smallest of \d+ plays, in \d+\.\d s: seed \d+
  drawn: count 7

hunt of sells: \d plays? in \d+\.\d s, \d+\.\d a second; level calm; the last new thing in play 0
-+ the story's own checks: repeat it -+
pytest test_stories\.py::sells repeats the hunt; this repeats its smallest play:
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
    assert re.search(r"broken: no_unexpected_status \(play 0\): .*404", ended.stdout)
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


MISSPELT = """
from labkit.hunt import story

@story
def test_stores(lab, draw):
    lab.solution("shop").route("GET", "/a", lua="Keystor.set{}")
    lab.solution("shop").get("/a")
"""


def test_misspelt_calls_are_among_the_warnings(tmp_path: Path) -> None:
    (tmp_path / "test_misspelt.py").write_text(MISSPELT)
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
