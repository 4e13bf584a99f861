"""The table of verdicts, and its data in a notebook's output."""

from dataclasses import replace
from typing import Any

import nbformat

from labkit.conformance.verdict import Verdict
from labkit.reporting.verdicts import Verdicts, collect_verdicts
from tests.reporting.books import verdict

PASSED = verdict("one/first", "AA-ONE-1")
FAILED = verdict(
    "one/second",
    "AA-ONE-1 AA-TWO-1",
    "failed",
    reason="status",
    expected="<204>",
    actual="500",
    exchange="GET /x\n\nHTTP 500",
)
SKIPPED = verdict("two/other", "AA-TWO-1", "skipped", reason="no clock")


def output(shown: Verdicts) -> Any:
    data, metadata = shown._repr_mimebundle_()
    return nbformat.v4.new_output("execute_result", data=data, metadata=metadata)


def notebook(*tables: Verdicts) -> Any:
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("x", outputs=[output(each)]) for each in tables]
    )


class TestTheTable:
    def test_text_has_each_check_and_the_reason_of_a_failure(self) -> None:
        assert repr(Verdicts([PASSED, FAILED, SKIPPED], "AA")).splitlines() == [
            "AA: 3 checks, 1 passed, 1 failed, 1 skipped",
            "  ✓ AA-ONE-1  title of one/first",
            "  ✗ AA-ONE-1 AA-TWO-1  title of one/second: status",
            "      expected <204>",
            "      actual   500",
            "  – AA-TWO-1  title of two/other: no clock",
        ]

    def test_html_has_the_exchange_and_is_escaped(self) -> None:
        html = output(Verdicts([PASSED, FAILED]))["data"]["text/html"]
        assert "&lt;204&gt;" in html
        assert "<204>" not in html
        assert "<pre>GET /x\n\nHTTP 500</pre>" in html

    def test_many_requirements_are_shortened(self) -> None:
        of_twelve, of_thirteen = (
            verdict("m/model", " ".join(f"AA-ONE-{n}" for n in range(1, count + 1))) for count in (12, 13)
        )
        shown = Verdicts([of_twelve, of_thirteen])
        assert "AA-ONE-12  title" in repr(shown)
        assert "AA-ONE-12 and 1 more  title" in repr(shown)
        assert shown._html().count("AA-ONE-12") == 2
        assert collect_verdicts(notebook(shown)) == [of_twelve, of_thirteen]

    def test_durations_are_omitted(self) -> None:
        slow = Verdict.from_dict({**PASSED.as_dict(), "seconds": 9.75})
        assert output(Verdicts([slow]))["data"] == output(Verdicts([PASSED]))["data"]

    def test_counts_by_part(self) -> None:
        frame = Verdicts([PASSED, FAILED, SKIPPED]).by_part()
        assert frame.loc["AA-ONE"].to_dict() == {
            "passed": 1, "failed": 1, "warned": 0, "skipped": 0, "broken": 0, "not reached": 0
        }  # fmt: skip
        assert frame.loc["AA-TWO", "failed"] == 1
        assert list(frame.index) == ["AA-ONE", "AA-TWO"]

    def test_only_the_requirements_asked_for_are_counted_and_they_come_first(self) -> None:
        many = [f"AA-ONE-{n}" for n in range(1, 14)]
        shown = Verdicts([verdict("m/model", " ".join([*many, "BB-TWO-1"]))], "BB", ["BB-TWO-1"])
        assert list((shown + Verdicts((), "CC")).by_part().index) == ["BB-TWO"]
        assert "  ✓ BB-TWO-1 AA-ONE-1 " in repr(shown)
        assert "<td style='text-align:left; white-space:nowrap'>BB-TWO-1<br>AA-ONE-1<br>" in shown._html()
        assert "AA-ONE-11 and 2 more  title" in repr(shown)

    def test_tables_add_up(self) -> None:
        both = Verdicts([PASSED], "AA") + Verdicts([FAILED], "BB")
        assert (both.name, len(both), both.good) == ("AA, BB", 2, False)
        mended = Verdicts([replace(FAILED, outcome="passed")])
        assert [list(one + other) for one, other in ((both, mended), (mended, both))] == [
            [PASSED, FAILED],
            [FAILED, PASSED],
        ]
        assert Verdicts([PASSED, SKIPPED]).good
        assert not Verdicts([verdict("x/y", "AA-ONE-1", "broken")]).good


class TestCollected:
    def test_shown_verdicts_are_read_back_completely(self) -> None:
        assert collect_verdicts(notebook(Verdicts([PASSED, FAILED]), Verdicts([SKIPPED]))) == [
            PASSED,
            FAILED,
            SKIPPED,
        ]

    def test_other_outputs_have_none(self) -> None:
        other = nbformat.v4.new_output("stream", text="x")
        assert (
            collect_verdicts(
                nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=[other])])
            )
            == []
        )
        assert collect_verdicts(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("x")])) == []
