"""`labkit hunt --firmware`, `--twice` and `--kinds`: a program is hunted without Python, and seeds are compared."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.hunt import load_story
from tests.firmware.programs import device_in_c
from tests.rig import invoked, ran

HERE = ("--product", "thermostat", "--resource", "temperature=number", "--resource", "message=string")
SHORT = ("--hours", "0.2", "--workers", "0")
ALONE = ("--twice", "--level", "calm", "--workers", "0")
CONFIG = """
products:
  - id: thermostat
    resources: {temperature: number, message: string}
  - id: lamp
    resources: {level: number}
https_port: 8443
http_port: 8080
"""


DEVICE = """
import os
import sys
import time

print(sys.argv[1:], os.environ["URL"], os.listdir())
open("state", "w").close()
time.sleep(1e6)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Current folder with a program, `client`, which does not keep its token."""
    shutil.copy(device_in_c()[0], tmp_path / "client")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


hunted = functools.partial(invoked, "hunt")


def client(seconds: str = "100000") -> tuple[str, str, str, str]:
    return ("--firmware", f"./client t-001 {seconds}", "--identity", "t-001")


def test_the_story_of_a_module_has_a_place() -> None:
    assert load_story("labkit.hunt.firmware_story:program").name == "program"


@pytest.mark.sampled
@pytest.mark.timeout(300)
def test_a_program_is_hunted_and_its_failure_repeats(folder: Path) -> None:
    ended = hunted(*client(), *HERE, *SHORT, "--kinds", "program restart", "--seeds", "20")
    lines = ended.stdout.splitlines()
    assert ended.exit_code == 1, ended.output
    assert lines[0].startswith(
        "./client t-001 100000 lives 0.2 hours as the device t-001 of the product thermostat"
    )
    assert any("recovers_within 600 s" in each and "409" in each for each in lines)
    assert "program restart" in ended.stdout
    [file] = (folder / "failures").glob("*.py")
    assert '"story": "labkit.hunt.firmware_story:program"' in file.read_text()
    again = hunted("--replay", str(file))
    assert again.stdout.startswith(f"{file}: breaks again, byte for byte as written: recovers_within 600 s")
    second = hunted(*client(), *HERE, *SHORT, "--kinds", "program restart", "--seeds", "20")
    assert "not begun, since a past failure breaks again" in second.stdout
    tested = ran(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file)
    assert (tested.returncode, "409" in tested.stdout) == (1, True)


def test_products_of_a_file(folder: Path) -> None:
    (folder / "lab.yaml").write_text(CONFIG)
    options = (*client(), "--config", "lab.yaml", *SHORT, "--level", "calm", "--seeds", "1")
    ended = hunted(*options)
    assert (ended.exit_code, ended.stderr) == (
        1,
        "labkit: the lab has several products, so name that of the program: lamp, thermostat\n",
    )
    ended = hunted(*options, "--product", "thermostat")
    assert ended.exit_code == 0, ended.output
    assert "promise keeps_polling 600 s: 1 kept" in ended.stdout
    assert hunted(*options, "--product", "thermostad").stderr.startswith("labkit: no product 'thermostad'")


def test_the_url_is_in_variables_and_in_the_command(folder: Path) -> None:
    (folder / "device.py").write_text(DEVICE)
    options = ("--firmware", f"{sys.executable} device.py {{url}}/x d", "--env", "URL=<{url}>")
    ended = hunted(*options, *SHORT, "--level", "calm", "--seeds", "1", "--twice")
    assert ended.exit_code == 0, ended.output
    assert "as the device d of the product device, https://device." in ended.stdout
    assert ended.stdout.endswith("; the journals of both plays are equal\n")


def test_help_about_kinds_has_sizes_and_meanings() -> None:
    ended = hunted("--kinds", "help")
    assert ended.exit_code == 0
    assert "| `rough` | up to 3 | 1 µs, 1 s, 30 s, 1 min |" in ended.stdout
    assert "\nquotas\n  full quota: a quota is full for a time" in ended.stdout


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--firmware", "./clint t-001"), "firmware: there is no file"),
        (("--firmware", ""), "--firmware: expected a program and its arguments"),
        (("--firmware", "'"), "--firmware: No closing quotation"),
        (("--firmware", "./client t-001", "--days", "0"), "--days: expected a time above 0"),
        (("--firmware", "./client t-001", "--env", "URL"), "--env URL: expected NAME=VALUE"),
        (("--firmware", "./client t-001", "--resource", "=x"), "--resource =x: expected ALIAS=FORMAT"),
        (("--firmware", "./client t-001", "--config", "no.yaml"), "no.yaml"),
        (("--firmware", "./client t-001", "stories.py"), "--firmware: expected no STORIES beside it"),
        (("stories.py", "--days", "2"), '--days: needs a program: --firmware "./client t-001"'),
        (("stories.py", "--resource", "a"), "--resource: needs a program"),
        (("--firmware", "./client t-001 9", "--kinds", "requets"), "--kinds: no kind of fault 'requets'"),
        (("--firmware", "./client t-001 9", "--without", "in_stp"), "--without: no kind of fault 'in_stp'"),
        (
            ("--firmware", "./client t-001 9", "--bound", "calls.delay=x"),
            "--bound calls.delay=x: call delay: delay: expected seconds",
        ),
        (
            ("--firmware", "./client t-001 9", "--bound", "calls"),
            "--bound calls: expected KIND.SETTING=VALUE",
        ),
    ],
)
def test_wrong_options_are_one_line(options: tuple[str, ...], error: str) -> None:
    ended = hunted(*options)
    assert ended.exit_code != 0
    assert error in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_static_program_is_refused(folder: Path) -> None:
    (folder / "static.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-static", "-o", "static", "static.c"], check=True)
    ended = hunted("--firmware", "./static d")
    assert (ended.exit_code, "is linked statically" in ended.stderr) == (1, True)
    assert ended.stderr.count("\n") == 1


def test_a_program_that_crashes_breaks_a_promise(folder: Path) -> None:
    ended = hunted(*client("60"), *HERE, *SHORT, "--level", "calm", "--seeds", "2")
    assert ended.exit_code == 1
    assert (
        "broken: programs_run (play 0; promised: no program of `lab.firmware` ends by itself): "
        "firmware/t-001: client ended with status 0"
    ) in ended.stdout
    [page] = (folder / "failures").glob("*.html")
    assert "<b>programs_run</b>: no program of `lab.firmware` ends by itself" in page.read_text()
    assert "ended with status 0" in ended.stdout


def test_a_program_that_ends_at_its_start_is_not_hunted(folder: Path) -> None:
    ended = hunted("--firmware", "sh -c 'echo usage: me; exit 2'", *SHORT)
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.endswith("sh ended with status 2; it printed last: 'usage: me'\n")
    assert ended.stderr.count("\n") == 1


STORIES = """
import itertools

from labkit.hunt import story

plays = itertools.count()


@story
def same(lab, draw):
    for key in ("first", "second"):
        lab.solution("shop").Keystore.set(key=key, value=str(draw.number(0, 99)))


@story
def differs(lab, draw):
    lab.solution(f"shop-{next(plays) // 4}").Keystore.set(key="a", value="b")


@story
def always_differs(lab, draw):
    lab.solution(f"shop-{next(plays)}").Keystore.set(key="a", value="b")


@story
def fails(lab, draw):
    raise ValueError("unfit")
"""


def test_seeds_are_played_twice(folder: Path) -> None:
    (folder / "stories.py").write_text(STORIES)
    ended = hunted("stories.py::same", *ALONE, "--seeds", "4")
    assert ended.exit_code == 0
    assert ended.stdout.startswith("same, twice: 4 seeds compared, ")
    assert ended.stdout.endswith(" records, 0 faults; the journals of both plays are equal\n")
    ended = hunted("stories.py::differs", *ALONE, "--seeds", "9", "--seed", "5")
    assert ended.exit_code == 1
    assert "; the two plays of seed 6 differ\n" in ended.stdout
    assert "first difference: record " in ended.stdout
    data = json.loads(hunted("stories.py::same", *ALONE, "--seeds", "2", "--json").stdout)
    assert (data["seeds"], data["equal"], data["difference"]) == (2, True, None)
    ended = hunted("stories.py::fails", *ALONE, "--seeds", "2")
    assert (ended.exit_code, ended.stderr.count("\n")) == (1, 1)
    assert "fails: seed 0: the story's own code (ValueError): ValueError: unfit" in ended.stderr


@pytest.mark.sampled
@pytest.mark.timeout(180)
def test_seeds_are_played_twice_in_other_processes(folder: Path) -> None:
    """The first seed that differs is named, whichever process was first; so is an error."""
    (folder / "stories.py").write_text(STORIES)
    many = ("--twice", "--level", "calm", "--workers", "2", "--seeds", "4")
    ended = hunted("stories.py::same", *many)
    assert ended.stdout.startswith("same, twice: 4 seeds compared, "), ended.output
    ended = hunted("stories.py::always_differs", *many)
    assert (ended.exit_code, "; the two plays of seed 0 differ\n" in ended.stdout) == (1, True)
    ended = hunted("stories.py::fails", *many)
    assert (ended.exit_code, "fails: seed 0: the story's own code" in ended.stderr) == (1, True)


def test_a_journal_that_has_dropped_records_is_not_compared(folder: Path) -> None:
    (folder / "stories.py").write_text(STORIES.replace("@story\n", "@story(journal={'records': 1})\n"))
    ended = hunted("stories.py::same", *ALONE, "--seeds", "2")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert "same: seed 0: the journal has dropped " in ended.stderr
    assert "which cannot be compared: journal={'records': " in ended.stderr


def test_kinds_of_faults_are_chosen(folder: Path) -> None:
    (folder / "stories.py").write_text(STORIES)
    ended = hunted(
        "stories.py::same", "--kinds", "restart, order", "--seeds", "12", "--workers", "0", "--json"
    )
    found = json.loads(ended.stdout)
    assert (found["level"], set(found["faults"])) == ("rough", {"restart"})
    options = (
        "--without",
        "platform,in_step",
        "--bound",
        "requests.delay=1..5",
        "--bound",
        "overlap.in_step=false",
    )
    ended = hunted(
        "stories.py::same",
        "--seeds",
        "1",
        "--workers",
        "0",
        *options,
        "--bound",
        "calls.where=Keystore.*,!*.get",
    )
    assert "; level rough, events, messages, outgoing, providers, devices, programs, quotas, " in ended.stdout
    assert "call delay (where Keystore.* !*.get)" in ended.stdout
    assert "request delay (delay 1.0 5.0)" in ended.stdout
