"""`labkit hunt`: hunts of stories of a file, failures as files, and their replay."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import pytest

from tests.rig import invoked

STORIES = """
import os
import signal

from labkit.hunt import story
from limits import limit


@story
def sells(lab, draw, *, most=9, goods="ä"):
    \"\"\"Sell what is there, and sometimes more.\"\"\"
    count = draw.number(1, most, label="count")
    lab.solution("shop").Keystore.set(key="sold", value=f"{count} {goods}")
    assert count < limit, f"sold out: {count} {goods}"


@story
def calm(lab, draw):
    \"\"\"Do nothing.\"\"\"


plays = []


def stopped(lab, draw):
    plays.append(lab)
    if len(plays) == 5:
        os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Current folder, in which another folder has stories and a module."""
    place = tmp_path / "my stories"
    place.mkdir()
    (place / "stories.py").write_text(STORIES, encoding="utf-8")
    (place / "limits.py").write_text("limit = 5\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "limits", raising=False)
    return tmp_path


hunted = functools.partial(invoked, "hunt")


PLACE = "my stories/stories.py"


def test_a_failure_is_printed_written_and_replayed(folder: Path) -> None:
    ended = hunted(f"{PLACE}::sells", "--workers", "0", "--level", "calm")
    page, file = sorted((folder / "failures").iterdir())
    lines = ended.stdout.splitlines()
    assert (ended.exit_code, ended.stderr) == (1, "")
    assert lines[0].startswith("hunt of sells: ")
    assert lines[1].startswith("broken: the story's own checks (play ")
    assert lines[1].endswith("): sold out: 5 ä (stories.py:14)")
    assert lines[3:] == [
        "  drawn: count 5",
        f"repeat it: labkit hunt --replay failures/{file.name}",
        f"look at it: failures/{page.name}",
    ]
    assert "sold out: 5 ä" in page.read_text(encoding="utf-8")

    replayed = hunted("--replay", str(file))
    text = "breaks again, byte for byte as written: the story's own checks: sold out: 5 ä (stories.py:14)"
    assert replayed.stdout == f"{file}: {text}\n"
    assert replayed.exit_code == 1


def test_a_file_is_cut_down_further_and_replaced(folder: Path) -> None:
    hunted(f"{PLACE}::sells", "--workers", "0", "--level", "calm", "--shrink", "1")
    [before] = (folder / "failures").glob("*.py")
    ended = hunted("--replay", str(before), "--shrink", "20", "--workers", "0")
    page, file = sorted((folder / "failures").iterdir())
    assert (ended.exit_code, file != before, page.suffix) == (1, True, ".html")
    assert "  drawn: count 5\n" in ended.stdout
    assert f"repeat it: labkit hunt --replay failures/{file.name}" in ended.stdout
    text = (folder / PLACE).read_text()
    (folder / PLACE).write_text(text.replace("count < limit", "count < 50"))
    mended = hunted("--replay", str(file), "--shrink", "20", "--workers", "0")
    assert (mended.exit_code, mended.stderr) == (
        1,
        f"labkit: {file}: no longer breaks: the story's own checks\n",
    )


def test_ctrl_c_ends_what_cuts_down_files(folder: Path) -> None:
    hunted(f"{PLACE}::sells", "--workers", "0", "--level", "calm", "--shrink", "1")
    [file] = (folder / "failures").glob("*.py")
    text = (folder / PLACE).read_text()
    (folder / PLACE).write_text(text.replace("    assert count", "    stopped(lab, draw)\n    assert count"))
    ended = hunted("--replay", str(file), "nowhere.py", "--shrink", "20", "--workers", "0")
    assert ended.exit_code == 130
    assert "cutting down interrupted after " in ended.stderr
    assert "nowhere" not in ended.stderr


def test_a_mended_story_passes(folder: Path) -> None:
    hunted(f"{PLACE}::sells", "--workers", "0", "--level", "calm")
    [file] = (folder / "failures").glob("*.py")
    again = hunted(f"{PLACE}::sells", "--workers", "0", "--level", "calm")  # the past failure is played first
    assert again.exit_code == 1
    assert again.stdout.startswith(
        "hunt of sells: not begun, since a past failure breaks again\npast failure: failures/"
    )
    assert f"{file.name}: breaks again, byte for byte as written" in again.stdout
    text = (folder / PLACE).read_text()
    (folder / PLACE).write_text(text.replace("count < limit", "count < 50"))
    assert hunted("--replay", str(file)).stdout == f"{file}: no longer breaks: the story's own checks\n"
    mended = hunted(f"{PLACE}::sells", "--workers", "0", "--level", "calm", "--seeds", "9")
    assert (mended.exit_code, mended.stdout.splitlines()[1]) == (0, "nothing broke")


def test_without_a_name_all_stories_of_a_file_are_hunted() -> None:
    ended = hunted(PLACE, "--workers", "0", "--level", "calm", "--seeds", "20", "--seed", "3", "--json")
    sells, calm = map(json.loads, ended.stdout.splitlines())
    assert ended.exit_code == 1
    assert (sells["story"], sells["failures"][0]["smallest"]["values"]) == ("sells", [["count", "5"]])
    assert min(sells["failures"][0]["plays"]) >= 3
    [file] = Path("failures").glob("*.py")
    assert sells["files"] == {"the story's own checks": str(file)}
    assert (calm["story"], calm["plays"], calm["failures"]) == ("calm", 20, [])


def test_all_seeds_are_played_and_parameters_set() -> None:
    ended = hunted(
        *(f"{PLACE}::sells", "--workers", "0", "--level", "calm", "--seeds", "30", "--all", "--json"),
        *("--set", "most=6", "--set", "goods=two words"),
    )
    found = json.loads(ended.stdout)
    assert (found["plays"], len(found["failures"][0]["plays"]) > 3) == (30, True)
    assert found["failures"][0]["smallest"]["reason"].startswith("sold out: 5 two words")
    [file] = Path("failures").glob("*.py")
    replayed = json.loads(hunted("--json", "--replay", str(file)).stdout)
    assert (replayed["exact"], replayed["breaks"]) == (True, "the story's own checks")


@pytest.mark.sampled
@pytest.mark.timeout(300)
def test_workers_find_what_is_beside_the_file() -> None:
    ended = hunted(f"{PLACE}::sells", "--workers", "1", "--level", "calm", "--time", "5m")
    assert ended.exit_code == 1
    assert "1 processes" in ended.stdout


def test_ctrl_c_prints_what_is_known(folder: Path) -> None:
    text = (folder / PLACE).read_text()
    (folder / PLACE).write_text(text.replace("def stopped", "@story\ndef stopped"))
    ended = hunted(f"{PLACE}::stopped", "--workers", "0", "--level", "calm")
    assert ended.exit_code == 130
    assert ended.stdout.splitlines()[0].endswith("; interrupted")
    assert ended.stdout.startswith(
        "hunt of stopped: 3 plays in "
    )  # after one that shows where faults can hit


def test_an_error_of_own_code_is_printed_and_not_kept(folder: Path) -> None:
    """A wrong `--set` first: neither it nor a typo leaves anything that a later hunt would play."""
    refused = hunted(f"{PLACE}::sells", "--workers", "0", "--set", "most=abc", "--json")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "sells: most: expected a number" in refused.stderr
    wrong = hunted(f"{PLACE}::sells", "--workers", "0", "--level", "calm", "--set", "most=0", "--json")
    data = json.loads(wrong.stdout)
    assert wrong.exit_code == 1
    assert list(data["files"].values()) == [None]
    assert [Path(each).is_file() for each in data["pages"].values()] == [True]
    assert list((folder / "failures").glob("test_*")) == []
    text = (folder / PLACE).read_text(encoding="utf-8")
    (folder / PLACE).write_text(text.replace("count < limit", "count < limitt"), encoding="utf-8")
    typo = hunted(f"{PLACE}::sells", "--workers", "0", "--level", "calm")
    assert typo.exit_code == 1
    assert (
        "not kept as a past failure: an error of the story's own code; mend it, and hunt again" in typo.stdout
    )
    assert "(stories.py:14)" in typo.stdout
    (folder / PLACE).write_text(text.replace("count < limit", "count < 50"), encoding="utf-8")
    mended = hunted(f"{PLACE}::sells", "--workers", "0", "--level", "calm", "--seeds", "9")
    assert (mended.exit_code, mended.stdout.splitlines()[1]) == (0, "nothing broke")


def test_several_files_are_replayed_and_each_has_a_line(folder: Path) -> None:
    for given in ("--set", "most=6"), ("--set", "goods=b"), ():
        hunted(f"{PLACE}::sells", "--workers", "0", "--level", "calm", "--failures", "f", *given)
        for each in Path("f").glob("*.py"):
            each.rename(folder / "my stories" / each.name)
    files = sorted(map(str, (folder / "my stories").glob("test_*.py")))
    assert len(files) == 3
    for name in files:
        text = Path(name).read_text(encoding="utf-8").replace("../my stories/stories", "stories")
        Path(name).write_text(text, encoding="utf-8")
    broken = hunted("--replay", *files)
    assert [line.partition(": breaks again")[0] for line in broken.stdout.splitlines()] == files
    assert (broken.exit_code, broken.stderr) == (1, "")

    text = (folder / PLACE).read_text(encoding="utf-8")
    (folder / PLACE).write_text(
        text.replace("count < limit", 'goods == "b" and count < 50'), encoding="utf-8"
    )
    moved = folder / "moved.py"
    moved.write_text(Path(files[0]).read_text(encoding="utf-8"), encoding="utf-8")
    some = hunted("--json", "--replay", *files, str(moved), "nowhere.py")
    found = [json.loads(line) for line in some.stdout.splitlines()]
    assert [each["file"] for each in found] == files
    assert sorted(each["state"] for each in found) == ["broken", "broken", "kept"]
    lost = "it plays 'stories.py::sells', which is relative to its folder; stories.py: there is no such file"
    assert some.stderr == f"labkit: {moved}: {lost}\nlabkit: nowhere.py: No such file or directory\n"
    assert some.exit_code == 1
    [kept] = [each["file"] for each in found if each["state"] == "kept"]
    assert hunted(kept, "--replay").exit_code == 0


TENANTS = """
from labkit import Lab
from labkit.hunt import story


@story
def keeps(lab, draw):
    \"\"\"Two solutions keep what people say, unless a fault refuses it.\"\"\"
    for name in ("lamp", "bank"):
        lab.solution(name).Keystore.set(key="ä", value=name)
        assert lab.solution(name).Keystore.get(key="ä").get("value") == name, f"{name} lost it"
"""
REFUSED = '("call error", {"where": "Keystore.set", "solution": "lamp", "status": 503})'


def test_a_replay_whose_faults_hit_nothing_is_no_success(folder: Path) -> None:
    stories = folder / "stories.py"
    stories.write_text(TENANTS, encoding="utf-8")
    file = folder / "test_keeps.py"
    play = "'story': 'stories.py::keeps', 'breaks': \"the story's own checks\", 'reason': '', 'seed': 1"
    file.write_text(f"PLAY = {{{play}, 'faults': [{REFUSED}], 'hits': [1], 'journal': ''}}", encoding="utf-8")
    assert "breaks again" in hunted("--replay", "test_keeps.py").stdout
    stories.write_text(TENANTS.replace('"lamp"', '"lamps"'), encoding="utf-8")  # the other solution stays
    renamed = hunted("--replay", "test_keeps.py")
    missed = "call error, where Keystore.set, solution lamp (no solution 'lamp', there are: lamps, bank; did you mean "
    assert renamed.exit_code == 1
    assert renamed.stdout.startswith(
        "test_keeps.py: cannot tell whether it still breaks the story's own checks: faults of the file hit nothing "
        f"now: {missed}"
    )
    data = json.loads(hunted("--replay", "--json", "test_keeps.py").stdout)
    assert (data["state"], data["breaks"], data["faults"][0]["hits"]) == ("untested", None, 0)
    assert data["missed"][0].startswith(missed)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            (),
            1,
            "expected one place of STORIES, such as stories.py::outage, --firmware COMMAND, or --replay FILE...",
        ),
        ((PLACE, PLACE), 1, "expected one place of STORIES"),
        (("--replay",), 1, "--replay: expected files that a hunt has written"),
        (("--replay", "my stories"), 1, "my stories: Is a directory"),
        (("nowhere.py::x",), 1, "nowhere.py: there is no such file"),
        ((f"{PLACE}::sels",), 1, f"{PLACE}: no story 'sels', there are: sells, calm; did you mean sells?"),
        ((PLACE, "--time", "soon"), 2, "'soon' is no duration such as 30s, 5m or 1h"),
        ((PLACE, "--time", "0s"), 2, "'0s' is no duration"),
        ((PLACE, "--set", "most"), 1, "--set most: expected NAME=VALUE"),
        ((f"{PLACE}::sells", "--set", "mots=3"), 1, "no parameter 'mots', there are: most, goods"),
        ((PLACE, "--seeds", "0"), 2, "invalid value for '--seeds'"),
        ((PLACE, "--level", "stormy"), 2, "'stormy' is not one of"),
        (("--replay", "nowhere.py"), 1, "nowhere.py: No such file or directory"),
        (("--replay", PLACE), 1, "expected a file that a hunt has written"),
        (
            ("--replay", "x.py", "--set", "most=3"),
            1,
            "--replay: expected no --set beside it: the file has its",
        ),
        (("--seeds", "3", "--replay", "x.py"), 1, "--replay: expected no --seeds beside it"),
        (("--replay", "--strict", "x.py"), 1, "--replay: expected no --strict beside it"),
        ((f"{PLACE}::sells", "--replay"), 1, "my stories/stories.py::sells: No such file or directory"),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[str, ...], status: int, message: str) -> None:
    ended = hunted(*arguments)
    assert (ended.exit_code, ended.stdout) == (status, "")
    assert ended.stderr.startswith("labkit: ")
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


SILENT = """
from labkit.hunt import always, never, story


def fine(lab):
    return True


@story(promises=[always(fine), never(summary="Keystore.comand")])
def misspelt(lab, draw):
    lab.solution("shop").Keystore.set(key="sold", value="ü")


@story(promises=[always(fine)])
def right(lab, draw):
    lab.solution("shop").Keystore.set(key="sold", value="ü")
"""
QUICK = ("--workers", "0", "--level", "calm", "--seeds", "2")


def test_warnings_leave_the_status_but_for_strict_hunts(folder: Path) -> None:
    (folder / "silent.py").write_text(SILENT, encoding="utf-8")
    plain, strict = (hunted("silent.py", *QUICK, *more) for more in ((), ("--strict",)))
    assert (plain.exit_code, strict.exit_code) == (0, 1)
    last = "nothing broke, but 1 of 2 promises were never put to the test, and see the warning"
    for ended in (plain, strict):
        assert [each for each in ended.stdout.splitlines() if each.startswith("nothing")] == [
            last,
            "nothing broke",
        ]
    assert hunted("silent.py::right", *QUICK, "--strict").exit_code == 0
    data = json.loads(hunted("silent.py::misspelt", *QUICK, "--strict", "--json").stdout)
    assert data["untested"] == ["never summary=Keystore.comand"]
    assert [each.partition("; ")[2] for each in data["warnings"]] == ["did you mean Keystore.command?"]


TWO = """
from labkit.hunt import always, story


def few(lab):
    return lab.solution("shop").Keystore.get(key="sold").get("value") != "9"


def none(lab):
    return not lab.solution("shop").Keystore.get(key="sold")


@story(promises=[always(few), always(none)])
def sells(lab, draw):
    lab.solution("shop").Keystore.set(key="sold", value=draw.number(8, 9, label="count"))
"""


def test_all_has_a_failure_for_each_broken_promise(folder: Path) -> None:
    (folder / "two.py").write_text(TWO, encoding="utf-8")
    ended = hunted("two.py", "--all", *QUICK[:-1], "12")
    broken = [each for each in ended.stdout.splitlines() if each.startswith("broken: ")]
    assert sorted(each.partition(" (")[0] for each in broken) == ["broken: always few", "broken: always none"]
    files = sorted(str(each) for each in Path("failures").glob("test_*.py"))
    replayed = [json.loads(each) for each in hunted("--json", "--replay", *files).stdout.splitlines()]
    assert sorted(each["breaks"] for each in replayed) == ["always few", "always none"]
    (folder / "two.py").write_text(TWO.replace('!= "9"', "!= 9"), encoding="utf-8")
    mended = [json.loads(each)["text"] for each in hunted("--json", "--replay", *files).stdout.splitlines()]
    assert sorted(each.partition(": ")[0] for each in mended) == [
        "breaks again, byte for byte as written",
        "no longer breaks",
    ]


def test_the_page_of_an_error_goes_with_the_error(folder: Path) -> None:
    """That of another story, and of another error that is there still, stay."""
    failures = folder / "failures"
    assert hunted(f"{PLACE}::sells", *QUICK, "--set", "most=-1").exit_code == 1
    [page] = failures.glob("error_sells_*.html")
    other, user = (failures / name for name in ("error_sells_more_01234567.html", "error_sells_notes.html"))
    for each in (other, user):
        each.write_text("mine")
    assert hunted(f"{PLACE}::sells", *QUICK, "--set", "most=-1").exit_code == 1
    assert page.exists()
    assert hunted(f"{PLACE}::sells", *QUICK, "--set", "most=4").exit_code == 0
    assert not page.exists()
    assert other.exists()
    assert user.exists()
