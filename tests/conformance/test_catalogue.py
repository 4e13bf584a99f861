"""Completeness and consistency of the catalogue, and the loader's refusal of invalid files."""

import dataclasses
import pickle
import tomllib
from collections import defaultdict
from itertools import groupby
from pathlib import Path

import pytest

from labkit.conformance import catalogue
from labkit.conformance.areas import requirement_files
from labkit.conformance.catalogue import Catalogue, UnknownRequirementError
from labkit.conformance.entries import CatalogueError, DuplicateEntryError
from labkit.core.errors import LabkitError
from tests.rig import written

# The form of the documents, counted by hand: numbered items, table rows, listed headers, other rules.
DEVICE_HTTPS_API = {
    "1/scope": (0, 0, 0, 1),
    "1/overview": (6, 0, 0, 0),
    "1/resources": (0, 9, 0, 0),
    "1/states": (0, 0, 0, 3),
    "1/endpoints": (0, 10, 0, 3),
    "1/endpoints/activate": (2, 4, 0, 5),
    "1/endpoints/list": (0, 0, 0, 3),
    "1/endpoints/info": (0, 0, 0, 2),
    "1/endpoints/download": (3, 0, 5, 3),
    "1/endpoints/write": (6, 0, 0, 0),
    "1/endpoints/read": (3, 0, 0, 0),
    "1/endpoints/hybrid": (3, 0, 0, 0),
    "1/endpoints/long-poll": (4, 0, 2, 1),
    "1/endpoints/record": (5, 0, 0, 0),
    "1/endpoints/timestamp": (0, 0, 0, 2),
    "1/endpoints/metrics": (0, 0, 0, 2),
    "1/metrics-pattern/operations": (0, 4, 0, 1),
    "1/metrics-pattern/commands": (0, 6, 0, 1),
    "1/metrics-pattern/handler": (4, 0, 0, 0),
    "1/metrics-pattern/flow": (3, 0, 0, 0),
    "1/authentication": (6, 3, 0, 0),
    "1/events": (0, 2, 0, 1),
    "1/errors": (3, 7, 0, 0),
    "1/limits": (0, 5, 0, 3),
    "1/versioning": (0, 0, 0, 2),
}
USER_MANAGEMENT = {
    "2/scope": (0, 0, 0, 5),
    "2/overview": (7, 0, 0, 0),
    "2/names": (0, 7, 0, 0),
    "2/records": (0, 9, 0, 0),
    "2/states": (0, 5, 0, 1),
    "2/endpoints": (0, 0, 0, 3),
    "2/endpoints/jwt": (0, 2, 0, 0),
    "2/endpoints/oauth": (0, 7, 0, 0),
    "2/endpoints/oauth-token": (0, 8, 0, 0),
    "2/endpoints/roles": (0, 19, 0, 0),
    "2/endpoints/socials": (0, 8, 0, 2),
    "2/endpoints/users": (0, 9, 0, 1),
    "2/endpoints/guides": (0, 12, 0, 0),
    "2/endpoints/user-info": (0, 5, 0, 0),
    "2/endpoints/social-setup": (3, 0, 0, 0),
    "2/endpoints/access-control": (6, 0, 0, 0),
    "2/authentication": (6, 0, 0, 0),
    "2/events": (0, 0, 0, 1),
    "2/errors": (4, 0, 0, 0),
    "2/limits": (0, 9, 0, 1),
    "2/versioning": (0, 0, 0, 1),
}
NOTIFICATION_AND_INTERFACE = {
    "3/scope": (0, 0, 0, 6),
    "3/overview": (4, 0, 0, 0),
    "3/resources/binding": (0, 12, 0, 0),
    "3/resources/notification": (0, 0, 0, 3),
    "3/resources/subscriber": (0, 6, 0, 0),
    "3/resources/configuration": (0, 10, 0, 2),
    "3/states": (0, 0, 0, 2),
    "3/endpoints/notify": (0, 5, 0, 5),
    "3/endpoints/send": (0, 11, 0, 1),
    "3/endpoints/interface": (0, 5, 0, 1),
    "3/authentication": (2, 0, 0, 0),
    "3/events": (0, 4, 0, 3),
    "3/errors": (4, 0, 0, 0),
    "3/limits": (0, 10, 0, 1),
    "3/versioning": (0, 0, 0, 2),
}


@pytest.fixture(scope="module")
def whole() -> Catalogue:
    return catalogue.load()


PUBLISHED = "4"  # number of the references that are no documents of the platform


class TestTheCatalogue:
    @pytest.mark.parametrize(
        "document", [DEVICE_HTTPS_API, USER_MANAGEMENT, NOTIFICATION_AND_INTERFACE], ids=["1", "2", "3"]
    )
    def test_it_has_every_statement_of_a_document_in_order(
        self, whole: Catalogue, document: dict[str, tuple[int, int, int, int]]
    ) -> None:
        number = next(iter(document))[0]
        statements = [each for each in whole.statements if each.startswith(f"{number}/")]
        assert [key for key, _ in groupby(statements, lambda each: each.rpartition("/")[0])] == list(document)
        expected = {
            f"{section}/{prefix}{number}"
            for section, counts in document.items()
            for prefix, count in zip(("", "row-", "header-", "rule-"), counts, strict=True)
            for number in range(1, count + 1)
        }
        assert set(statements) == expected

    def test_it_has_no_other_document(self, whole: Catalogue) -> None:
        assert {each[0] for each in whole.statements} == {"1", "2", "3", PUBLISHED}

    def test_what_only_references_say_is_a_choice(self, whole: Catalogue) -> None:
        alone = [each for each in whole if {source[0] for source in each.sources} == {PUBLISHED}]
        assert alone
        assert {each.level for each in alone} == {"choice"}

    def test_each_part_has_a_title(self, whole: Catalogue) -> None:
        assert list(whole.parts) == list(dict.fromkeys(each.part for each in whole))

    def test_every_statement_is_tested_or_has_a_reason_not_to_be(self, whole: Catalogue) -> None:
        for reference, statement in whole.statements.items():
            assert bool(whole.covering(reference)) is (statement.nothing_to_test is None), reference

    def test_a_statement_has_its_document_and_section(self, whole: Catalogue) -> None:
        statement = whole.statements["1/limits/row-2"]
        assert (statement.document, statement.section) == ("Device HTTPS API", "Limits")
        assert statement.item == "row-2"
        assert statement.gist.startswith("token length")

    def test_a_requirement_is_one_unique_sentence(self, whole: Catalogue) -> None:
        texts = [each.text for each in whole]
        assert len(set(texts)) == len(texts)
        for requirement in whole:
            assert requirement.text.endswith("."), requirement.id
            assert ". " not in requirement.text, requirement.id

    def test_no_source_is_named_twice(self, whole: Catalogue) -> None:
        for requirement in whole:
            assert len(set(requirement.sources)) == len(requirement.sources), requirement.id

    def test_requirements_of_a_part_and_of_an_area_are_adjacent(self, whole: Catalogue) -> None:
        for of in (lambda each: each.part, lambda each: each.area):
            names = [name for name, _ in groupby(whole, of)]
            assert len(set(names)) == len(names)

    def test_a_folder_has_one_area(self) -> None:
        areas: dict[str, set[str]] = defaultdict(set)
        for name, file in requirement_files():
            ids = tomllib.loads(file.read_text(encoding="utf-8")).keys() - {"retired", "parts"}
            areas[name.partition("/")[0]] |= {each.partition("-")[0] for each in ids}
        assert [names for names in areas.values() if len(names) > 1] == []
        assert len(set.union(*areas.values())) == len(areas)

    def test_numbers_rise_within_a_part(self, whole: Catalogue) -> None:
        for part, group in groupby(whole, lambda each: each.part):
            numbers = [int(each.id.removeprefix(f"{part}-")) for each in group]
            assert numbers == sorted(numbers), part

    def test_it_is_immutable(self, whole: Catalogue) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            whole["DEV-ALIAS-1"].text = "other"  # type: ignore[misc]
        with pytest.raises(TypeError):
            whole.requirements["DEV-ALIAS-1"] = whole["DEV-ALIAS-2"]  # type: ignore[index]
        with pytest.raises(TypeError):
            whole.statements["1/limits/row-1"] = whole.statements["1/limits/row-2"]  # type: ignore[index]


class TestLookup:
    def test_by_id(self, whole: Catalogue) -> None:
        requirement = whole["DEV-ALIAS-3"]
        assert (requirement.area, requirement.part) == ("DEV", "DEV-ALIAS")
        assert requirement.level == "must"
        assert requirement.sources == ("1/endpoints/write/3",)

    def test_an_unknown_id_is_an_error_with_the_id(self, whole: Catalogue) -> None:
        with pytest.raises(UnknownRequirementError, match="DEV-ALIAS-999"):
            whole["DEV-ALIAS-999"]

    def test_without_prefix_all_are_selected(self, whole: Catalogue) -> None:
        assert whole.select() == tuple(whole.requirements.values())

    def test_a_prefix_selects_all_requirements_below_it(self, whole: Catalogue) -> None:
        chosen = whole.select("DEV-ALIAS")
        assert [each.id for each in chosen] == [each for each in whole.requirements if "-ALIAS-" in each]
        assert len(chosen) > 1

    def test_a_prefix_ends_at_a_whole_part(self, whole: Catalogue) -> None:
        assert "DEV-ALIAS-10" in whole.requirements
        assert [each.id for each in whole.select("DEV-ALIAS-1")] == ["DEV-ALIAS-1"]
        with pytest.raises(UnknownRequirementError, match="DEV-ALI"):
            whole.select("DEV-ALI")

    def test_several_prefixes_keep_the_catalogues_order_without_repeats(self, whole: Catalogue) -> None:
        chosen = [each.id for each in whole.select("KEY-GET-1", "DEV-READ", "DEV-READ-1")]
        assert chosen == [*(each.id for each in whole.select("DEV-READ")), "KEY-GET-1"]

    def test_a_prefix_without_requirements_fails_the_whole_selection(self, whole: Catalogue) -> None:
        with pytest.raises(UnknownRequirementError, match="DEV-NOPE"):
            whole.select("DEV-READ", "DEV-NOPE")

    def test_covering_finds_the_requirements_of_a_statement(self, whole: Catalogue) -> None:
        assert whole["DEV-ALIAS-3"] in whole.covering("1/endpoints/write/3")
        assert whole.covering("1/scope/rule-1") == ()


STATEMENTS = """
document = 1
title = "Tea"

[section."1/pots"]
title = "Pots"
1 = "Pots hold tea"
row-1 = "Lids are round"
rule-1 = "Colours are not shown"
"""

EXCUSE = """
[nothing_to_test]
"1/pots/rule-1" = "taste"
"""

POT = """
retired = ["POT-LID-2"]

POT-TEA-1.must = ["1/pots/1"]
POT-TEA-1.text = "A pot holds tea."

POT-LID-1.must = ["1/pots/row-1"]
POT-LID-1.text = "A lid is round."

POT-LID-3.choice = ["1/pots/row-1"]
POT-LID-3.text = "A lid has a knob."
POT-LID-3.not_mutable = "it is a word"
"""

CUP = """
CUP-TEA-1.choice = ["1/pots/1"]
CUP-TEA-1.text = "A cup takes what a pot holds."
"""

TEA, POT_FILE, CUP_FILE = "pot/statements.toml", "pot/lid/requirements.toml", "cup/tea/requirements.toml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small valid catalogue: two areas, one of them with a document."""
    return written(tmp_path, {TEA: STATEMENTS + EXCUSE, POT_FILE: POT, CUP_FILE: CUP})


def test_the_small_catalogue_loads(folder: Path) -> None:
    small = catalogue.load(folder)
    assert list(small.statements) == ["1/pots/1", "1/pots/row-1", "1/pots/rule-1"]
    assert [each.id for each in small] == ["CUP-TEA-1", "POT-TEA-1", "POT-LID-1", "POT-LID-3"]
    assert small.retired == {"POT-LID-2"}
    assert small.statements["1/pots/rule-1"].nothing_to_test == "taste"
    assert small["POT-LID-3"].not_mutable == "it is a word"
    assert small["POT-LID-1"].not_mutable is None


def test_documents_have_their_own_order_whatever_the_file_names(folder: Path) -> None:
    second = STATEMENTS.replace("document = 1", "document = 2").replace("1/pots", "2/cups")
    (folder / "cup/statements.toml").write_text(second, encoding="utf-8")
    more = CUP.replace('"1/pots/1"', '"2/cups/1", "2/cups/row-1", "2/cups/rule-1"')
    (folder / CUP_FILE).write_text(more, encoding="utf-8")
    assert [each[0] for each in catalogue.load(folder).statements] == list("111222")


def test_files_are_in_the_order_of_their_sources(folder: Path) -> None:
    (folder / CUP_FILE).write_text(CUP.replace("1/pots/1", "1/pots/row-1"), encoding="utf-8")
    small = catalogue.load(folder)
    assert [each.id for each in small] == ["POT-TEA-1", "POT-LID-1", "POT-LID-3", "CUP-TEA-1"]


@pytest.mark.parametrize(
    ("file", "old", "new", "error", "entry"),
    [
        (POT_FILE, '["1/pots/1"]', '["1/pots/9"]', "UnknownSourceError", "POT-TEA-1"),
        (TEA, '"1/pots/rule-1"', '"1/pots/rule-9"', "UnknownSourceError", "1/pots/rule-9"),
        (POT_FILE, "POT-LID-1", "POT-TEA-2", "MissingIdError", "POT-LID-1"),
        (POT_FILE, "POT-LID-3", "POT-LID-1", "MalformedEntryError", "the file"),
        (POT_FILE, "POT-TEA-1", "CUP-TEA-1", "DuplicateEntryError", "CUP-TEA-1"),
        (POT_FILE, "POT-LID-3", "POT-LID-2", "RetiredIdError", "POT-LID-2"),
        (POT_FILE, '["POT-LID-2"]', "[]", "MissingIdError", "POT-LID-2"),
        (TEA, "rule-1", 'rule-2 = "More"\nrule-1', "UncoveredStatementError", "1/pots/rule-2"),
        (TEA, '"1/pots/rule-1"', '"1/pots/1"', "NeedlessReasonError", "1/pots/1"),
        (POT_FILE, 'must = ["1/pots/1"]', 'should = ["1/pots/1"]', "MalformedEntryError", "POT-TEA-1"),
        (POT_FILE, '["1/pots/1"]', "[]", "MalformedEntryError", "POT-TEA-1"),
        (POT_FILE, "not_mutable", "unmutable", "MalformedEntryError", "POT-LID-3"),
        (POT_FILE, "A pot holds tea.", " ", "MalformedEntryError", "POT-TEA-1"),
        (POT_FILE, "POT-TEA-1", "POT-TEA-01", "MalformedEntryError", "POT-TEA-01"),
        (POT_FILE, "POT-TEA-1.must", "[[requirement]]\nmust", "MalformedEntryError", "an entry without id"),
        (TEA, '"taste"', '""', "MalformedEntryError", "top level"),
        (TEA, 'title = "Pots"', "", "MalformedEntryError", "1/pots"),
        (POT_FILE, 'retired = ["POT-LID-2"]', "", "MissingIdError", "POT-LID-2"),
        (POT_FILE, "retired", "retried", "MalformedEntryError", "top level"),
        (POT_FILE, '"A lid is round."', "round", "MalformedEntryError", "the file"),
        (TEA, "row-1", "line-1", "MalformedEntryError", "1/pots"),
        (TEA, "document = 1", "document = 2", "MalformedEntryError", "1/pots"),
        (TEA, "document = 1", 'document = "1"', "MalformedEntryError", "top level"),
        (TEA, "row-1", "1", "MalformedEntryError", "the file"),
    ],
)  # fmt: skip
def test_an_invalid_entry_is_refused_with_file_and_entry(
    folder: Path, file: str, old: str, new: str, error: str, entry: str
) -> None:
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1 if file == TEA else -1), encoding="utf-8")
    with pytest.raises(CatalogueError) as caught:
        catalogue.load(folder)
    assert type(caught.value).__name__ == error
    assert (caught.value.file, caught.value.entry) == (file, entry)
    assert str(caught.value).startswith(f"{file}: {entry}: ")
    # mutants run in other processes, and send errors back
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_section_that_occurs_in_two_files_is_refused(folder: Path) -> None:
    (folder / "cup/statements.toml").write_text(STATEMENTS, encoding="utf-8")
    with pytest.raises(DuplicateEntryError, match=r"pot/statements.toml: 1/pots/1: "):
        catalogue.load(folder)


def test_a_statement_with_two_reasons_is_refused(folder: Path) -> None:
    second = STATEMENTS.replace("document = 1", "document = 2").replace("1/pots", "2/cups")
    (folder / "cup/statements.toml").write_text(second + EXCUSE, encoding="utf-8")
    with pytest.raises(DuplicateEntryError, match=r"pot/statements.toml: 1/pots/rule-1: "):
        catalogue.load(folder)


def test_an_id_that_another_file_retired_is_refused(folder: Path) -> None:
    file = folder / CUP_FILE
    file.write_text(f'retired = ["POT-TEA-1"]\n{CUP}', encoding="utf-8")
    with pytest.raises(catalogue.RetiredIdError, match=r"pot/lid/requirements.toml: POT-TEA-1: "):
        catalogue.load(folder)


def test_a_statement_whose_last_requirement_is_removed_is_uncovered(folder: Path) -> None:
    file = folder / POT_FILE
    file.write_text(POT.replace('"1/pots/row-1"', '"1/pots/1"'), encoding="utf-8")
    with pytest.raises(catalogue.UncoveredStatementError, match=r"pot/statements.toml: 1/pots/row-1: "):
        catalogue.load(folder)


def test_every_error_is_a_labkit_error() -> None:
    assert issubclass(CatalogueError, LabkitError)
    assert issubclass(UnknownRequirementError, LabkitError)
