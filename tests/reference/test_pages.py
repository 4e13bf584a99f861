"""The pages of the reference: complete, and found by name."""

from __future__ import annotations

import inspect
import re

import pytest

from labkit.conformance.coverage import coverage
from labkit.control.over_http.operations import operations
from labkit.core.errors import UnknownError
from labkit.reference import control, promises, requirements
from labkit.reference import testing as reference_of_tests
from labkit.reference.entry import explained, prose
from labkit.reference.pages import find, pages

KINDS = ("fixture", "marker", "option of pytest")


def test_each_control_operation_and_requirement_has_an_entry() -> None:
    assert {entry.name for page in control.pages() for entry in page.entries} == set(operations())
    assert {entry.name for page in requirements.pages() for entry in page.entries} == {
        each.id for each in coverage()
    }


def test_each_control_operation_says_its_arguments_its_result_and_its_errors() -> None:
    for page in control.pages():
        for entry in page.entries:
            operation = operations()[entry.name]
            assert ("**Arguments**" in entry.body) == bool(operation.arguments.model_fields), entry.name
            for name in operation.arguments.model_fields:
                assert f"- `{name}` (" in entry.body, (entry.name, name)
            assert "**Result**" in entry.body, entry.name
            _, _, errors = entry.body.partition("**Errors**")
            assert ("- 422: " in errors) == bool(operation.arguments.model_fields), entry.name
            for name in re.findall(r"\b[A-Z]\w+Error\b", operation.doc):
                assert f"`{name}`" in errors, (entry.name, name)
    [ensure] = find("products.ensure")
    assert "- 409 `TakenError`: Without it, raises TakenError that lists the differences" in ensure.body


def test_each_fixture_marker_and_option_of_the_pytest_plugin_has_an_entry(
    request: pytest.FixtureRequest,
) -> None:
    [page] = reference_of_tests.pages()
    names = {kind: {each.name for each in page.entries if each.kind == kind} for kind in KINDS}
    assert names["fixture"] == {
        "lab",
        "lab_session",
        "lab_each",
        "labkit_server",
        "client_environment",
        "firmware",
    }
    assert names["marker"] == {f"pytest.mark.{name}" for name in ("lab", "hunt", "must", "choice")}
    manager = request.session._fixturemanager
    assert all(manager.getfixturedefs(each, request.node) for each in names["fixture"])
    unset = {"--labkit-seed", "--labkit-url", "--hunt-seeds", "--hunt-time", "--hunt-failures"}
    unset |= {"--labkit-coverage", "--labkit-coverage-min", "--labkit-labs"}
    for each in names["option of pytest"]:
        assert request.config.getoption(each, None) is not None or each in unset
    assert len(names["option of pytest"]) == 10


def test_each_promise_has_an_entry_with_a_word_on_each_argument() -> None:
    [page] = promises.pages()
    made = {
        "always",
        "eventually",
        "never",
        "nothing_lost",
        "nothing_doubled",
        "recovers_within",
        "seen_within",
    }
    made |= {"no_script_failed", "no_unexpected_status", "quotas_kept", "requests_bounded"}
    made |= {"keeps_polling", "programs_run"}
    made |= {"within", "nothing_older", "conserved", "monotone", "at_most", "never_twice"}
    assert {each.name for each in page.entries} == made
    for name, function in promises.promises().items():
        for argument in inspect.signature(function).parameters:
            assert re.search(rf"\b{argument}\b[^(]*:", function.__doc__ or ""), (name, argument)


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
        ("/v1/clock/advance", "control operation"),
        ("data_in", "event"),
        ("labkit_server", "fixture"),
        ("fixture lab", "fixture"),
        ("pytest.mark.lab", "marker"),
        ("--labkit-seed", "option of pytest"),
        ("labkit-seed", "option of pytest"),
        ("recovers_within", "promise"),
        ("promise always", "promise"),
        ("labkit.hunt.always", "promise"),
        ("DEV-ALIAS-1", "requirement"),
        ("Lab.product", "Python"),
        ("lab.clock.advance", "Python"),
        ("User", "page"),
        ("cut", "fault"),
        ("forget", "fault"),
        ("labkit.hunt", "page"),
        ("hunt", "Python"),
        ("play", "Python"),
        ("labkit.hunt.Draw", "Python"),
        ("Draw.seconds", "Python"),
        ("expect.status", "Python"),
        ("labkit.conformance.check.check", "decorator"),
        ("story", "decorator"),
        ("Target.client", "Python"),
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
