"""Plays as files: written, read, and played again."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from labkit import Lab, LabError
from labkit.hunt import Draw, HuntFailure, Story, hunt, load_story, play, replay, story
from labkit.hunt.draw import OtherValueError
from labkit.hunt.literals import is_literal
from labkit.hunt.plays.loading import load_stories
from labkit.hunt.plays.written import literal, read
from tests.hunt import hunted
from tests.hunt.hunted import Delays
from tests.rig import ran

QUIET: dict[str, Any] = {"seeds": 200, "workers": 0, "progress": False}
LIMIT = "limit = 3\n"
STORIES = """
from pathlib import Path

from labkit.hunt import always, story
from limits import limit


@story
def sells(lab, draw, *, most=9):
    \"\"\"Sell what is there, and sometimes more.\"\"\"
    app = lab.solution("shop")
    for each in range(draw.number(1, most, label='how "many"')):
        app.Keystore.command(key="sold", command="incr")
        draw.choice([lab, app], label="who\\n")
        draw.choice(["ä\\n", "'", '"', "\\x00", "\\ud800"])
    assert each < limit, "sold out: é"


@story
def calm(lab, draw):
    \"\"\"Do nothing.\"\"\"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder with stories, and a module beside them."""
    place = tmp_path / "a folder é"
    place.mkdir()
    (place / "stories.py").write_text(STORIES, encoding="utf-8")
    (place / "limits.py").write_text(LIMIT)
    return place


@pytest.fixture
def written(folder: Path) -> Path:
    """File of a failure."""
    failure = failure_of(load_story("stories.py::sells", folder / "x"))
    return failure.save(folder / "failures")


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what the stories of a test have imported from their folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "limits", raising=False)


def failure_of(told: Story, **options: Any) -> HuntFailure:
    [failure] = hunt(told, **{**QUIET, "level": "calm", **options}).failures.values()
    return failure


def test_a_file_holds_literals_and_breaks_again_byte_for_byte(written: Path) -> None:
    play_data = read(written)
    assert play_data.story == "../stories.py::sells"
    assert play_data.breaks == "the story's own checks"
    assert play_data.values[:2] == (('how "many"', 4), ("who\n", {"option": 0}))
    found = replay(play_data, beside=written, check=False)
    assert found.is_exact
    assert found.text.startswith(
        "breaks again, byte for byte as written: the story's own checks: sold out: é"
    )
    with pytest.raises(AssertionError, match="sold out: é") as raised:
        replay(play_data, beside=written)
    assert raised.value.__notes__[-1] == found.text


@pytest.mark.sampled
@pytest.mark.timeout(300)
def test_a_file_is_a_test_that_passes_once_the_story_is_mended(written: Path, tmp_path: Path) -> None:
    """In another process, with another seed of hashes, in another folder."""
    shutil.copytree(written.parents[1], tmp_path / "elsewhere")
    file = tmp_path / "elsewhere" / "failures" / written.name

    def run() -> subprocess.CompletedProcess[str]:
        return ran(
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", file.name),
            cwd=file.parent,
            env={name: each for name, each in os.environ.items() if not name.startswith("PYTEST")}
            | {"PYTHONHASHSEED": "77"},
        )

    broken = run()
    assert (broken.returncode, broken.stderr) == (1, "")
    assert "breaks again, byte for byte as written" in broken.stdout
    (tmp_path / "elsewhere" / "limits.py").write_text("limit = 300\n")
    mended = run()
    assert (mended.returncode, mended.stderr) == (0, ""), mended.stdout


def test_a_mended_story_no_longer_breaks(written: Path, folder: Path) -> None:
    mended = (folder / "stories.py").read_text().replace("each < limit", "each < 300")
    (folder / "stories.py").write_text(mended)
    found = replay(read(written), beside=written)
    assert found.breach is None
    assert str(found) == "no longer breaks: the story's own checks"


def test_a_story_that_breaks_something_else_is_told(written: Path, folder: Path) -> None:
    other = (folder / "stories.py").read_text().replace("assert each < limit", "assert undefined")
    (folder / "stories.py").write_text(other)
    found = replay(read(written), beside=written, check=False)
    assert found.text.startswith(
        "cannot tell whether it still breaks the story's own checks; mend this first: the story's own code (NameE"
    )


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('label="who\\n"', 'label="whom"', r"draws 'whom', and the given value number 2 is of 'who\\n'"),
        ('label="who\\n"', "", r"draws a value without label, and the given value number 2 is of"),
        ("(1, most,", "(9, 10,", "draws a number from 9 to 10, and the given value is 4"),
        ('["ä\\n"', '["z"', r"draws one of .*and the given value is 'ä\\n'"),
        (
            "    assert",
            "    draw.chance(0.5)\n    assert",
            "draws a value without label, after all 9 given values",
        ),
    ],
)
def test_a_story_that_draws_otherwise_is_an_error(
    written: Path, folder: Path, before: str, after: str, message: str
) -> None:
    text = (folder / "stories.py").read_text()
    assert before in text
    (folder / "stories.py").write_text(text.replace(before, after))
    with pytest.raises(
        LabError, match=rf"test_sells_\w+\.py: sells: the story {message}.*; delete the file, .* hunt again$"
    ):
        replay(read(written), beside=written)


def test_a_draw_of_a_device_otherwise_than_given_ends_the_play(lab: Lab) -> None:
    @story
    def drawing(lab: Lab, draw: Draw) -> None:
        lab.at(5, lambda: draw.number(0, 3, label="later"))
        lab.wait(seconds=10)

    assert play(drawing, 1, values=[("later", 3)]).drawn == (("later", 3),)
    with pytest.raises(OtherValueError, match="given value is 4"):
        play(drawing, 1, values=[("later", 4)])


def test_faults_are_data(folder: Path) -> None:
    failure = failure_of(hunted.shop, level=Delays())
    file = failure.save(folder)
    data = read(file)
    [(kind, settings)] = data.faults
    assert (kind, settings["delay"]) == ("call delay", 20)
    assert replay(data, beside=file, check=False).is_exact
    again = play(hunted.shop, data.seed, faults=data.faults, values=data.values, check=False)
    assert again == failure.play()


def test_the_cell_repeats_the_play(folder: Path) -> None:
    failure = failure_of(hunted.shop, level=Delays(), parameters={"customers": 5})
    cell = failure.cell().replace("\n)", ",\n    check=False,\n)").replace(",,", ",")
    assert 'parameters={"customers": 5}' in cell
    assert eval(cell, {"play": play, "shop": hunted.shop}) == failure.play()


def test_values_that_are_no_literals_are_named() -> None:
    @story
    def strange(lab: Lab, draw: Draw) -> None:
        value = draw(strategies.complex_numbers().map(lambda number: {number}), "strange")
        assert not value

    failure = failure_of(strange)
    with pytest.raises(LabError, match=r"^strange: a drawn value is no Python literal.*'strange'"):
        failure.cell()


def test_a_story_of_a_notebook_has_a_cell_and_no_file(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    code = "from labkit.hunt import story\n@story\ndef s(lab, draw):\n    assert draw.number(0, 9) < 5\n"
    exec(compile(code, "<ipython-input-1>", "exec"), space)
    failure = failure_of(space["s"])
    with pytest.raises(LabError, match="no story of a file"):
        failure.save(tmp_path)
    assert (
        failure.cell()
        == f"play(\n    s,\n    seed={failure.play().seed},\n    values=[\n        (None, 5),\n    ],\n)"
    )


def test_a_changed_value_is_no_part_of_what_was_drawn() -> None:
    @story
    def changes(lab: Lab, draw: Draw) -> None:
        value = draw(strategies.just([1, 2]).map(list))
        value.append(3)

    played = play(changes, 1)
    assert played.drawn == ((None, [1, 2]),)
    assert play(changes, 1, values=played.drawn) == played


LITERALS = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.text()
    | strategies.floats(allow_nan=False, allow_infinity=False) | strategies.binary(),
    lambda inner: strategies.lists(inner) | strategies.tuples(inner)
    | strategies.dictionaries(strategies.text(), inner),
    max_leaves=5,
)  # fmt: skip


@given(LITERALS)
def test_literals_are_read_as_they_were_written(value: object) -> None:
    assert is_literal(value)
    text = literal(value)
    assert repr(ast.literal_eval(text)) == repr(value)
    text.encode()


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), object(), [object()], {1: Path()}, set(), 1j, Lab]
)
def test_other_values_are_no_literals(value: object) -> None:
    assert not is_literal(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("x = 1", "expected a file that a hunt has written, with PLAY"),
        ("(", "expected a file that a hunt has written"),
        ("PLAY = print()", "expected Python literals alone"),
        ("PLAY = {'story': 's.py::s'}", "expected a play with story"),
        (
            "PLAY = {'story': 's', 'breaks': '', 'reason': '', 'seed': 1, 'more': 2}",
            "expected a play with story",
        ),
    ],
)
def test_files_that_are_no_plays_are_named(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "test_x.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(LabError, match=message):
        read(file)


# --- stories of files ---------------------------------------------------------------------------------------


def test_stories_of_a_file_are_no_module(folder: Path) -> None:
    before = set(sys.modules)
    stories = load_stories("stories.py", folder)
    assert [each.name for each in stories] == ["sells", "calm"]
    assert set(sys.modules) - before == {"limits"}
    assert load_story("tests.hunt.hunted:shop") is hunted.shop


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("stories.py::Shop::sells", "stories.py has no class 'Shop'"),
        ("stories.py::Path::sells", "stories.py: no story 'sells', there are: none"),
        ("stories.py::limit::sells", "stories.py has no class 'limit'"),
        ("stories.py::sels", "no story 'sels'.*did you mean sells"),
        ("nowhere.py::sells", "nowhere.py: there is no such file"),
        ("limits.py", "limits.py: there is no story"),
        ("stories.py::limit", "expected a story, a function with @story, not 3"),
        ("wrong.py", "wrong.py:2: ZeroDivisionError: division by zero"),
        ("syntax.py", "syntax.py:1: SyntaxError: "),
        ("not a module", "expected stories, such as stories.py::outage"),
        ("nothing_such:s", "nothing_such: ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_loaded_is_named(folder: Path, place: str, message: str) -> None:
    (folder / "wrong.py").write_text("x = 1\n1 / 0\n")
    (folder / "syntax.py").write_text("def (:\n")
    with pytest.raises(LabError, match=message):
        load_stories(place, folder)


def test_one_story_of_several_has_to_be_named(folder: Path) -> None:
    with pytest.raises(
        LabError, match=r"expected one story, such as stories.py::sells; there are: sells, calm"
    ):
        load_story("stories.py", folder / "x")
