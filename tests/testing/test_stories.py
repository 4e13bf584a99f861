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
