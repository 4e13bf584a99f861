"""JUnit XML of a report, as CI servers read it."""

from pathlib import Path
from xml.etree import ElementTree

import nbformat

from labkit.reporting.junit import junit
from labkit.reporting.run_notebook import CellError, NotebookRun
from tests.reporting.books import verdict

VERDICTS = [
    verdict("a/passes", "AA-ONE-1"),
    verdict(
        "b/fails", "AA-TWO-1", "failed", reason="status", expected="1 < 2", actual="\x00", exchange="GET /"
    ),
    verdict("a/breaks", "AA-ONE-2", "broken", reason="TypeError: x"),
    verdict("a/skips", "AA-ONE-2", "skipped", reason="no clock"),
    verdict("a/warns", "AA-ONE-3", "warned", reason="header"),
]
SENTENCES = {"AA-TWO-1": "One is more than two."}
BOOK = nbformat.v4.new_notebook()
RUNS = [
    NotebookRun(Path("01_a.ipynb"), BOOK),
    NotebookRun(Path("02_b.ipynb"), BOOK, CellError(2, "1/0", "ZeroDivisionError: x", "trace")),
]


def test_every_outcome_has_its_own_element() -> None:
    root = ElementTree.fromstring(junit(VERDICTS, RUNS, SENTENCES))
    cases = {case.get("name", "").split(":")[0]: case for case in root.iter("testcase")}
    assert list(cases) == ["a/passes", "a/breaks", "a/skips", "a/warns", "b/fails", "01_a", "02_b"]
    tags = {name: [child.tag for child in case] for name, case in cases.items()}
    assert tags == {
        "a/passes": [], "b/fails": ["failure"], "a/breaks": ["error"], "a/skips": ["skipped"],
        "a/warns": ["skipped"], "01_a": [], "02_b": ["error"],
    }  # fmt: skip
    failure = cases["b/fails"][0]
    assert failure.get("message") == "status: expected 1 < 2, got \ufffd"
    assert failure.text is not None
    assert failure.text.startswith("AA-TWO-1: One is more than two.\nexpected: 1 < 2\n")
    assert "GET /" in failure.text


def test_a_warned_check_does_not_count_as_passed() -> None:
    root = ElementTree.fromstring(junit(VERDICTS, RUNS, SENTENCES))
    assert [each.get("message") for each in root.iter("skipped")] == ["no clock", "warned: header"]
    counted = {suite.get("name"): [each.attrib for each in suite.iter("property")] for suite in root}
    assert counted == {"AA-ONE": [{"name": "warned", "value": "1"}], "AA-TWO": [], "notebooks": []}


def test_differing_choices_are_failures_on_request() -> None:
    root = ElementTree.fromstring(junit(VERDICTS, RUNS, SENTENCES, strict=True))
    assert root.get("failures") == "2"
    assert [each.get("message") for each in root.iter("failure")] == [
        "header",
        "status: expected 1 < 2, got \ufffd",
    ]


def test_it_has_time_and_duration() -> None:
    root = ElementTree.fromstring(junit(VERDICTS, RUNS, SENTENCES, began=1_795_300_000.0, seconds=41.5))
    assert (root.get("timestamp"), root.get("time")) == ("2026-11-21T22:26:40", "41.500")
    assert {each.get("timestamp") for each in root} == {"2026-11-21T22:26:40"}


def test_counts_add_up() -> None:
    root = ElementTree.fromstring(junit(VERDICTS, RUNS, SENTENCES))
    counted = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counted == {"tests": "7", "failures": "1", "errors": "2", "skipped": "2"}
    assert [(suite.get("name"), suite.get("tests")) for suite in root] == [
        ("AA-ONE", "4"), ("AA-TWO", "1"), ("notebooks", "2")
    ]  # fmt: skip
