"""The pages of the reference: complete, and found by name."""

from __future__ import annotations

import re

import pytest

from labkit.conformance.coverage import coverage
from labkit.control.over_http.operations import operations
from labkit.core.errors import UnknownError
from labkit.reference import control, requirements
from labkit.reference.entry import explained, prose
from labkit.reference.pages import find, pages


def test_each_control_operation_and_requirement_has_an_entry() -> None:
    assert {entry.name for page in control.pages() for entry in page.entries} == set(operations())
    assert {entry.name for page in requirements.pages() for entry in page.entries} == {
        each.id for each in coverage()
    }


def test_anchors_are_unique_in_a_book() -> None:
    anchors = [entry.anchor for page in pages() for entry in page.entries]
    assert len(set(anchors)) == len(anchors)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("User.listUsers", "operation"),
        ("listusers", "operation"),
        ("device datapoint", "event"),
        ("guard.header", "setting"),
        ("products.auth", "setting"),
        ("faults.delay", "fault"),
        ("drop before", "device fault"),
        ("clock.advance", "control operation"),
        ("DEV-ALIAS-1", "requirement"),
        ("Lab.product", "Python"),
        ("lab.clock.advance", "Python"),
        ("User", "page"),
    ],
)
def test_an_entry_is_found_by_its_name(name: str, kind: str) -> None:
    assert [each.kind for each in find(name)] == [kind]


def test_an_unknown_name_is_an_error_that_suggests_a_similar_one() -> None:
    with pytest.raises(UnknownError, match=r"no entry 'User.listUser'; did you mean User\.listUsers\?"):
        find("User.listUser")


def test_prose_keeps_code_and_escapes_what_markdown_would_take() -> None:
    assert (
        prose("A pattern: `w-*`, or * for\nall.\n\n    x = 1")
        == "A pattern: `w-*`, or \\* for all.\n\n```text\nx = 1\n```"
    )


def test_meanings_are_read_from_sentences() -> None:
    doc = "Sends.\n\nto, cc: an address; text: the body. 400 for none. html: as HTML.\nother: no name of ours"
    assert explained(doc, ["to", "cc", "text", "html"]) == {
        "to": "an address",
        "cc": "an address",
        "text": "the body",
        "html": "as HTML",
    }
    assert explained("No names at all", []) == {}


def test_every_page_has_an_introduction_and_entries() -> None:
    for page in pages():
        assert page.entries, page.path
        assert page.intro, page.path
        assert re.match(r"# \S", page.markdown())
