"""Requirements and checks of one's own, in folders: read, listed, run in processes, and the errors of wrong folders."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from labkit.conformance import processes
from labkit.conformance.catalogue import UnknownRequirementError, load
from labkit.conformance.coverage import coverage
from labkit.conformance.entries import CatalogueError
from labkit.conformance.own import read_own
from labkit.conformance.suite import suite
from tests.conformance.own_folders import ACME, OUTCOMES, RULES, SENTENCES
from tests.rig import invoked

REQUIREMENT = 'ACME-1.must = []\nACME-1.text = "It works."\n'
TABLE = '[[requirement]]\nid = "ACME-1"\nlevel = "must"\ntext = "It works."\n'
HEAD = "from labkit.conformance.check import check\n\n"
CHECK = HEAD + '@check("ACME-1", "it works")\nasync def works(target):\n    pass\n'


def folder(path: Path, requirements: str = REQUIREMENT, **files: str) -> Path:
    """Write a folder of one's own, with `checks.py` unless other files are given."""
    path.mkdir()
    (path / "requirements.toml").write_text(requirements)
    for name, text in (files or {"checks": CHECK}).items():
        (path / f"{name}.py").write_text(text)
    return path


class TestFolders:
    def test_requirements_and_checks_of_two_folders_are_read(self) -> None:
        own = read_own([ACME, RULES])
        assert {each.id: each.requirement.text for each in own} == SENTENCES
        assert [each.name for each in own.checks] == list(OUTCOMES)
        assert own.catalogue.parts == {
            "ACME-CLOCK": "what the firmware of Acme asks of the time",
            "RULES": "",
        }
        assert own.unchecked == own.unproved[:0]

    def test_the_coverage_of_the_package_stays_as_it_is(self) -> None:
        whole = suite([ACME, RULES])
        assert whole.package.as_dict() == coverage().as_dict()
        assert [each.id for each in whole] == [*load().requirements, *SENTENCES]

    def test_a_prefix_selects_from_both(self) -> None:
        whole = suite([ACME, RULES])
        assert [each.name for each in whole.below("ACME").checks] == ["acme/ten-digits", "acme/header"]
        assert whole.below("DEV-TIME").checks == coverage().below("DEV-TIME").checks
        with pytest.raises(UnknownRequirementError, match="no requirement begins with 'ACM'"):
            whole.below("ACM")

    def test_a_folder_named_twice_counts_once(self) -> None:
        assert len(read_own([ACME, str(ACME)]).checks) == 2

    @pytest.mark.parametrize("sources", [[], ["1/endpoints/row-9"]])
    def test_a_table_means_the_same_as_dotted_keys(self, tmp_path: Path, sources: list[str]) -> None:
        listed = json.dumps(sources)
        texts = (REQUIREMENT.replace("[]", listed), f"{TABLE}sources = {listed}\n")
        for name, text in zip(("dotted", "table"), texts, strict=True):
            folder(tmp_path / name, text)
        [dotted], [table] = (read_own([tmp_path / name]).catalogue for name in ("dotted", "table"))
        assert dotted == table
        assert dotted.sources == tuple(sources)

    def test_an_edit_is_read_by_the_same_process(self, tmp_path: Path) -> None:
        own = folder(tmp_path / "acme", value="TITLE = 'one'\n", checks=CHECK)
        edited = CHECK.replace('"it works"', "TITLE").replace(HEAD, HEAD + "from .value import TITLE\n")
        (own / "checks.py").write_text(edited)
        assert [each.title for each in read_own([own]).checks] == ["one"]
        (own / "value.py").write_text("TITLE = 'another'\n")
        assert [each.title for each in read_own([own]).checks] == ["another"]

    def test_folders_may_have_files_of_the_same_name(self, tmp_path: Path) -> None:
        text = CHECK.replace(HEAD, HEAD + "from .value import TITLE\n").replace('"it works"', "TITLE")
        for name in ("one", "two"):
            other = REQUIREMENT.replace("ACME-1", f"{name.upper()}-1")
            checks = text.replace("ACME-1", f"{name.upper()}-1")
            folder(tmp_path / name, other, value=f"TITLE = {name!r}\n", checks=checks)
        found = read_own([tmp_path / "one", tmp_path / "two"])
        assert [each.title for each in found.checks] == ["one", "two"]


@pytest.mark.sampled
def test_checks_run_in_processes_of_their_own() -> None:
    whole = suite([ACME, RULES])
    chosen = [*whole.own.checks, *whole.below("DEV-TIME").checks[:1]]
    verdicts = processes.play(chosen, seed=7, folders=[ACME, RULES])
    assert [each.outcome for each in verdicts] == [*OUTCOMES.values(), "passed"]


class TestList:
    def run(self, *arguments: str) -> str:
        result = invoked("list", *arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    def test_it_has_the_requirements_of_folders_after_those_of_the_package(self) -> None:
        given = ["--checks", str(ACME), "--checks", str(RULES)]
        listed = json.loads(self.run("requirements", "--json", *given))
        assert {each["id"]: each["text"] for each in listed[-3:]} == SENTENCES
        assert len(listed) == len(load().requirements) + 3
        text = self.run("requirements", *given)
        assert "ACME-CLOCK-7  choice\n" in text
        assert "RULES-2  must\n    The time is the number of seconds since 2020.\n" in text

    def test_the_list_of_statements_ends_with_them(self) -> None:
        before, after = json.loads(self.run("--json")), json.loads(self.run("--json", "--checks", str(ACME)))
        assert {name: after[name] for name in before} == before
        assert [each["id"] for each in after["own"]] == ["ACME-CLOCK-1", "ACME-CLOCK-7"]
        assert "Requirements of one's own\n\nACME-CLOCK-1" in self.run("--checks", str(ACME))

    @pytest.mark.parametrize("topic", ["operations", "coverage"])
    def test_other_topics_have_no_checks(self, topic: str) -> None:
        result = invoked("list", topic, "--checks", ACME)
        assert result.exit_code == 2
        assert f"--checks: not for `labkit list {topic}`" in result.stderr


WRONG = {
    "bad TOML": (
        {"requirements": 'parts.ACME = "all"\nACME-1.must = 1/row-1\n'},
        r"a/requirements\.toml:2: the file: is not TOML: Exp",
    ),
    "unknown key": (
        {"requirements": f'{REQUIREMENT}\n{REQUIREMENT.replace("1", "2")}ACME-2.colour = "red"\n'},
        r"a/requirements\.toml:4: ACME-2: level: expected 'must' or 'choice', not 'must and colour'",
    ),
    "unknown key of a table": (
        {"requirements": f'{TABLE}\n{TABLE.replace("1", "2")}colour = "red"\n'},
        r"a/requirements\.toml:6: ACME-2: colour: ",
    ),
    "unknown level": (
        {"requirements": REQUIREMENT.replace("must", "may")},
        r"a/requirements\.toml:1: ACME-1: level: expected 'must' or 'choice', not 'may'",
    ),
    "unknown level in a table": (
        {"requirements": TABLE.replace("must", "may")},
        r"a/requirements\.toml:1: ACME-1: level: expected 'must' or 'choice', not 'may'",
    ),
    "two levels": (
        {"requirements": f"{REQUIREMENT}ACME-1.choice = []\n"},
        r"a/requirements\.toml: ACME-1: level: expected 'must' or 'choice', not 'must and choice'",
    ),
    "another id": (
        {"requirements": f'{REQUIREMENT}ACME-1.id = "ACME-2"\n'},
        r"a/requirements\.toml:1: ACME-1: level: expected 'must' or 'choice', not 'must and id'",
    ),
    "no level": (
        {"requirements": 'ACME-1.text = "It works."\n'},
        r"a/requirements\.toml: ACME-1: level: expected 'must' or 'choice', not ''",
    ),
    "no text": (
        {"requirements": "ACME-1.must = []\n"},
        r"a/requirements\.toml:1: ACME-1: text: Field required",
    ),
    "wrong id": (
        {"requirements": REQUIREMENT.replace("ACME-1", "acme")},
        r"a/requirements\.toml:1: acme: id: ",
    ),
    "no id": (
        {"requirements": TABLE.replace("id", "name")},
        r"a/requirements\.toml:1: an entry without id: ",
    ),
    "no requirement": (
        {"requirements": "retired = []\n"},
        r"a/requirements\.toml: requirement: there is none",
    ),
    "unknown source": (
        {"requirements": REQUIREMENT.replace("[]", '["1/nowhere/1"]')},
        r"a/requirements\.toml:1: ACME-1: no statement '1/nowhere/1'",
    ),
    "id twice": (
        {"requirements": REQUIREMENT + TABLE},
        r"a/requirements\.toml:3: ACME-1: is there already, in a/requirements\.toml:1",
    ),
    "retired id": (
        {"requirements": f'retired = ["ACME-1"]\n{REQUIREMENT}'},
        r"a/requirements\.toml:2: ACME-1: is retired",
    ),
    "prefix of the package": (
        {
            "requirements": REQUIREMENT.replace("ACME-1", "DEV-ALIAS-1"),
            "checks": CHECK.replace("ACME-1", "DEV-ALIAS-1"),
        },
        r"a/requirements\.toml:1: DEV-ALIAS-1: DEV is a prefix of labkit's own requirements; use another one",
    ),
    "requirement without check": (
        {"requirements": f"{REQUIREMENT}\n{TABLE.replace('ACME-1', 'ACME-2')}"},
        r"a/requirements\.toml:4: ACME-2: has no check in a/checks\.py",
    ),
    "check of an unknown requirement": (
        {"checks": CHECK.replace("ACME-1", "ACME-2")},
        r"a/checks\.py:3: a/works: no requirement 'ACME-2', there are: ACME-1; did you mean ACME-1\?",
    ),
    "check of the package's": (
        {"checks": CHECK.replace("ACME-1", "ACME-1 DEV-ALIAS-3")},
        r"a/checks\.py:3: a/works: no requirement 'DEV-ALIAS-3', there are: ACME-1",
    ),
    "unknown feature": (
        {"checks": CHECK.replace('works")', 'works", needs={"clok"})')},
        r"a/checks\.py:3: a/works: needs: no feature 'clok', .*; did you mean clock\?",
    ),
    "no coroutine": (
        {"checks": CHECK.replace("async ", "")},
        r"a/checks\.py:3: a/works: is no async function: write `async def`",
    ),
    "one name twice": (
        {"checks": CHECK, "checks_more": CHECK},
        r"a/checks_more\.py:3: a/works: is there already, in a/checks\.py:3",
    ),
    "no check": ({"checks": HEAD}, r"a/checks\.py: checks: there is none; each is a function with @check"),
    "no Python": ({"checks": "a = 1\nb = (\n"}, r"a/checks\.py:2: SyntaxError: '\(' was never closed"),
    "import fails": (
        {"checks": "import json\nimport nosuch\n"},
        r"a/checks\.py:2: ModuleNotFoundError: No module named 'nosuch'",
    ),
    "import beside": (
        {"checks": "import values\n", "values": ""},
        r"a/checks\.py:1: ModuleNotFoundError: .*; it is beside the checks: from \. import values",
    ),
    "error beside": (
        {"checks": "from . import values\n", "values": "\n1 / 0\n"},
        r"a/values\.py:2: ZeroDivisionError: ",
    ),
    "exit": ({"checks": "raise SystemExit('enough')\n"}, r"a/checks\.py:1: SystemExit: enough"),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestErrors:
    @pytest.mark.parametrize("wrong", WRONG)
    def test_an_error_names_file_and_line(self, here: Path, wrong: str) -> None:
        files, text = WRONG[wrong]
        given = dict(files)
        folder(here / "a", given.pop("requirements", REQUIREMENT), **given)
        with pytest.raises(CatalogueError) as raised:
            read_own(["a"])
        assert re.match(text, str(raised.value)), str(raised.value)
        assert "\n" not in str(raised.value)

    def test_a_folder_or_a_file_that_is_not_there(self, here: Path) -> None:
        (here / "empty").mkdir()
        with pytest.raises(CatalogueError, match=r"^checks: nowhere: there is no such folder$"):
            read_own(["nowhere"])
        with pytest.raises(
            CatalogueError, match=r"^checks: empty/requirements\.toml: there is no such file$"
        ):
            read_own(["empty"])
        (here / "empty" / "requirements.toml").write_text(REQUIREMENT)
        with pytest.raises(CatalogueError, match=r"^checks: empty/checks\.py: there is no such file$"):
            read_own(["empty"])

    def test_two_folders_may_not_share_an_id_or_the_name_of_a_check(self, here: Path) -> None:
        folder(here / "a")
        folder(here / "b")
        with pytest.raises(
            CatalogueError, match=r"^b/requirements\.toml:1: ACME-1: is there already, in a/req"
        ):
            read_own(["a", "b"])
        (here / "deeper").mkdir()
        other = REQUIREMENT.replace("ACME-1", "ACME-2")
        folder(here / "deeper" / "a", other, checks=CHECK.replace("ACME-1", "ACME-2"))
        with pytest.raises(
            CatalogueError, match=r"^deeper/a/checks\.py:3: a/works: is there already, in a/ch"
        ):
            read_own(["a", "deeper/a"])

    def test_a_check_may_not_have_the_name_of_one_of_the_package(self, here: Path) -> None:
        text = CHECK.replace("def works", "def is_now")
        folder(here / "timestamp", checks=text)
        with pytest.raises(CatalogueError, match="timestamp/is-now: is there already, in labkit itself"):
            read_own(["timestamp"])

    def test_at_a_terminal_it_is_one_line(self, here: Path) -> None:
        folder(here / "a", checks=CHECK.replace("ACME-1", "ACME-2"))
        for command in (["list"], ["report"]):
            result = invoked(*command, "--checks", "a")
            assert result.exit_code == 1
            [line] = result.stderr.splitlines()
            assert line.startswith("labkit: a/checks.py:3: a/works: no requirement 'ACME-2'")
        assert not (here / "reports").exists()
