"""Folders of past failures: what is kept there, and what it means for later hunts."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.core.files import write_whole
from labkit.hunt import Hunt, HuntFailure, Story, hunt, load_story
from labkit.hunt.plays.written import WrittenPlay, read
from labkit.reporting.failure_files import keep_failure

STORIES = """
from labkit.hunt import always, story

BELOW = 3


def known(lab):
    return len(lab.journal) < 999


@story(promises=[always(known)])
def sells(lab, draw, *, most=9):
    app = lab.solution("shop")
    for each in range(draw.number(1, most, label="people")):
        app.Keystore.set(key="sold", value=str(each))
        assert each < BELOW, f"sold out: {each}"


class TestShop:
    @story
    def sells(lab, draw):
        assert draw.number(0, 9, label="class") < 5, "too many"
"""
CALM: dict[str, Any] = {"workers": 0, "progress": False, "level": "calm"}
PLACE = "ä shop/stories.py"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Current folder, in which another folder has stories."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "ä shop").mkdir()
    edit()
    return tmp_path


def edit(before: str = "", after: str = "", place: str = PLACE) -> Story:
    """Write the stories anew, with a change, and return the first one."""
    assert before in STORIES
    Path(place).write_text(STORIES.replace(before, after) if before else STORIES, encoding="utf-8")
    return load_story(f"{place}::sells")


def hunted(told: Story, seeds: int = 40, **options: Any) -> Hunt:
    return hunt(told, seeds, failures="failures", **{**CALM, **options})


def failure_of(found: Hunt) -> HuntFailure:
    [failure] = found.failures.values()
    return failure


def kept() -> Path:
    """Hunt, keep the failure, and return its file."""
    file = keep_failure(failure_of(hunted(edit())), Path("failures")).play
    assert file is not None
    return file


DELETE = "delete the file, which repeats nothing now, and hunt again"
REASON = "the story's own checks: sold out: 3 (stories.py:16)"
MENDED = ("BELOW = 3", "BELOW = 300")


def test_a_hunt_does_not_begin_while_a_past_failure_breaks() -> None:
    file = kept()
    found = hunted(edit())
    assert (found.seeds, found.is_begun, found.good) == (0, False, False)
    assert found.text().splitlines() == [
        "hunt of sells: not begun, since a past failure breaks again",
        f"past failure: {file}: breaks again, byte for byte as written: {REASON}",
        "  mend what it tests, or delete the file if that may break",
    ]
    data = json.loads(json.dumps(found.as_dict()))
    assert (data["begun"], data["past"][0]["file"], data["past"][0]["state"]) == (False, str(file), "broken")
    assert "not begun" in repr(found)
    assert "breaks again" in found._repr_html_()
    write = file.with_name("test_too.py")
    write.write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    assert "since 2 past failures break again" in hunted(edit()).text()
    write.unlink()

    mended = hunted(edit(*MENDED), 5)
    assert (mended.seeds, mended.past, mended.stale, mended.good) == (5, [], [], True)
    file.unlink()
    assert failure_of(hunted(edit())).title == "the story's own checks"


def test_a_hunt_of_all_seeds_begins_in_any_case() -> None:
    kept()
    found = hunted(edit(), 20, stop="never")
    assert (found.seeds, found.is_begun, len(found.past), len(found.failures)) == (20, True, 1, 1)


@pytest.mark.parametrize(
    ("before", "after", "parameters", "title"),
    [
        ("lab.solution(", "lab.solutoin(", {}, "the story's own code (AttributeError)"),
        ("(1, most,", "(1, most,", {"most": 0}, "the story's own code (LabError)"),
        ("lab.journal)", "lab.nothing)", {"most": 1}, "always known (its own code failed)"),
    ],
)
def test_an_error_of_own_code_is_not_kept_and_stops_no_hunt(
    before: str, after: str, parameters: dict[str, object], title: str
) -> None:
    failure = failure_of(hunted(edit(before, after), parameters=parameters))
    assert failure.title == title
    files = keep_failure(failure, Path("failures"))
    assert files.play is None
    assert files.page is not None
    assert "labkit hunt --replay" not in files.page.read_text(encoding="utf-8")
    whose = "promise" if "known" in title else "story"
    assert files.lines == (
        f"not kept as a past failure: an error of the {whose}'s own code; mend it, and hunt again",
        f"look at it: {files.page}",
    )
    assert list(Path("failures").iterdir()) == [files.page]
    assert hunted(edit(*MENDED), 5).good


def test_a_past_failure_stops_no_hunt_while_the_code_of_the_story_fails() -> None:
    file = kept()
    found = hunted(edit("BELOW, f", "BELLOW, f"))
    assert (found.past, found.is_begun, failure_of(found).title) == (
        [],
        True,
        "the story's own code (NameError)",
    )
    [stale] = found.stale
    assert stale.file == file
    assert stale.reason.startswith(
        "cannot tell whether it still breaks the story's own checks; mend this first: "
    )
    assert hunted(edit()).past[0].file == file


def test_a_kept_error_of_own_code_stops_no_hunt() -> None:
    """As in a file that an earlier version has written."""
    broken = hunted(edit("BELOW, f", "BELLOW, f"))
    file = failure_of(broken).save("failures")
    again = hunted(edit("BELOW, f", "BELLOW, f"))
    assert (again.past, again.seeds) == ([], 1)
    assert again.stale[0].reason.endswith("an error of the code itself: mend it, or delete the file")
    assert f"past failure: {file}: breaks again" in again.text()
    assert hunted(edit(*MENDED), 5).good


def test_a_play_of_other_values_is_named_and_stops_no_hunt() -> None:
    file = kept()
    found = hunted(edit(*MENDED), 3)
    assert (found.stale, found.good) == ([], True)
    Path(PLACE).write_text(STORIES.replace(*MENDED).replace('"people"', '"guests"'), encoding="utf-8")
    changed = load_story(f"{PLACE}::sells")
    found = hunted(changed, 3)
    assert (found.seeds, found.past, found.good) == (3, [], False)
    assert found.text().splitlines()[-2:] == [
        f"past failure: {file}: sells: the story draws 'guests', and the given value number 1 is of 'people'; {DELETE}",
        "nothing else broke",
    ]
    assert json.loads(json.dumps(found.as_dict()))["stale"][0]["file"] == str(file)
    file.unlink()
    assert hunted(changed, 3).good


def test_a_parameter_that_is_gone_is_named_and_stops_no_hunt() -> None:
    file = kept()
    data = read(file)
    file.write_text(replace(data, parameters={"most": 7}).text(), encoding="utf-8")
    assert hunted(edit()).past
    found = hunted(edit("most", "highest"))
    assert (found.past, found.is_begun) == ([], True)
    assert "no parameter 'most', there are: highest" in found.stale[0].reason


def test_a_play_whose_faults_hit_nothing_stops_no_hunt_and_is_no_success() -> None:
    file = kept()
    gone = ("call error", {"where": "Keystore.set", "solution": "shopp", "status": 503})
    file.write_text(replace(read(file), faults=(gone,), hits=(1,)).text(), encoding="utf-8")
    found = hunted(edit(*MENDED), 5)
    assert (found.seeds, found.past, found.good) == (5, [], False)
    assert f"past failure: {file}: cannot tell whether" in found.text()
    assert "no solution 'shopp', there are: shop" in found.text()


def test_equal_names_in_two_files_and_in_a_class_are_three_stories() -> None:
    file = kept()
    Path("other").mkdir()
    other = edit(*MENDED, place="other/stories.py")
    assert hunted(other, 3).past == []
    assert [each.file for each in hunted(edit()).past] == [file]

    of_class = load_story(f"{PLACE}::TestShop::sells")
    own = keep_failure(failure_of(hunted(of_class)), Path("failures")).play
    assert own is not None
    assert read(own).story == "../ä shop/stories.py::TestShop::sells"
    assert [each.file for each in hunted(of_class).past] == [own]
    assert [each.file for each in hunted(edit()).past] == [file]


def test_a_file_whose_story_is_not_where_it_was_is_played_by_its_name() -> None:
    file = kept()
    Path("old/x").mkdir(parents=True)
    file.rename(f"old/x/{file.name}")
    assert len(hunt(edit(), 5, failures="old/x", **CALM).past) == 1


def test_a_story_within_a_function_has_no_file(folder: Path) -> None:
    text = "from labkit.hunt import story\n\n\ndef made():\n    @story\n    def inner(lab, draw):\n        assert 0\n"
    (folder / "made.py").write_text(f"{text}    return inner\n\n\nouter = made()\n", encoding="utf-8")
    failure = failure_of(hunted(load_story("made.py::outer")))
    files = keep_failure(failure, Path("failures"))
    assert files.play is None
    assert files.lines[0].startswith("no file repeats it: inner is made within a function")
    assert files.page is not None
    assert files.page.is_file()


def test_a_folder_that_cannot_be_written_is_named(folder: Path) -> None:
    failure = failure_of(hunted(edit()))
    (folder / "file").write_text("")
    files = keep_failure(failure, Path("file/failures"))
    assert (files.play, files.page) == (None, None)
    assert files.lines[0] == "no file repeats it: file/failures: Not a directory"
    assert files.lines[1].startswith("no page shows it: file/failures")


WRITER = """
import sys
from pathlib import Path
from labkit.core.files import write_whole
for number in range(300):
    write_whole(Path(sys.argv[1]), sys.argv[2] * 100_000)
"""


@pytest.mark.timeout(300)
def test_processes_that_write_one_file_at_once_leave_a_whole_one(folder: Path) -> None:
    file = folder / "ä.txt"
    write_whole(file, "0")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(file), each]) for each in "äbc"]
    seen = set()
    while any(each.poll() is None for each in writers):
        seen.add(file.read_text(encoding="utf-8"))
    assert [each.returncode for each in writers] == [0, 0, 0]
    assert seen <= {"0", *(each * 100_000 for each in "äbc")}
    assert [each.name for each in folder.iterdir() if each.is_file()] == ["ä.txt"]


def test_a_file_that_cannot_be_written_stays_as_it_was(folder: Path) -> None:
    file = folder / "x"
    write_whole(file, "before")
    with pytest.raises(UnicodeEncodeError):
        write_whole(file, "\ud800")
    write_whole(folder / "y", "\ud800", errors="replace")
    assert (file.read_text(), (folder / "y").read_text()) == ("before", "?")
    with pytest.raises(FileNotFoundError):
        write_whole(folder / "none" / "x", "")
    assert sorted(each.name for each in folder.iterdir() if each.is_file()) == ["x", "y"]


def test_written_plays_keep_their_data() -> None:
    data = read(kept())
    assert isinstance(data, WrittenPlay)
    assert data.story == "../ä shop/stories.py::sells"
