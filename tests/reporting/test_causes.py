"""Order of problems: the cause precedes its consequences."""

from __future__ import annotations

from labkit.conformance.verdict import Verdict
from labkit.reporting.causes import problems
from tests.reporting.books import verdict

FAILING = ("failed", "broken")
PARTS = ("DEV-KEEP", "DEV-PROV", "DEV-TIME", "DEV-POLL")


def names(*verdicts: Verdict) -> list[str]:
    return [each.verdict.check for each in problems(verdicts, FAILING, PARTS)]


def test_checks_that_others_rely_on_come_first_and_models_and_broken_checks_last() -> None:
    found = names(
        verdict("broken/one", "DEV-TLS-1", "broken", reason="oops"),
        verdict("keep/one", "DEV-KEEP-1", "failed", reason="a"),
        verdict("poll/one", "DEV-POLL-1", "failed", reason="b"),
        verdict("time/good", "DEV-TIME-4"),
        verdict("time/model", "DEV-TIME-1 DEV-POLL-1", "failed", outcomes={"DEV-TIME-1": "failed"}),
        verdict("time/two", "DEV-TIME-1 DEV-TIME-2", "failed", reason="c"),
        verdict("time/one", "DEV-TIME-2", "failed", reason="d"),
    )
    assert found == ["time/one", "time/two", "time/model", "keep/one", "poll/one", "broken/one"]


def test_a_check_that_was_not_reached_is_grouped_with_its_cause() -> None:
    left_out = verdict("poll/one", "DEV-POLL-1", "not reached", cause="DEV-TIME-1")
    failed = verdict("time/one", "DEV-TIME-1", "failed", reason="the time")
    [problem] = problems([left_out, failed], FAILING, PARTS)
    assert (problem.verdict, problem.not_reached) == (failed, (left_out,))


def test_without_a_failed_check_of_the_cause_one_consequence_represents_the_others() -> None:
    first, second = (
        verdict(name, "DEV-POLL-1", "not reached", cause="DEV-TIME-1") for name in ("a/a", "a/b")
    )
    [problem] = problems([first, second], FAILING, PARTS)
    assert (problem.verdict, problem.not_reached) == (first, (second,))


def test_equal_answers_to_equal_requests_are_one_problem() -> None:
    def refused(check: str, requirement: str, path: str, status: str = "500") -> Verdict:
        text = f"POST {path}\nAccept: */*\n\nHTTP {status}"
        return verdict(
            check, requirement, "failed", reason="status", expected="204", actual=status, exchange=text
        )

    found = problems(
        [
            refused("poll/one", "DEV-POLL-1", "/alias?a"),
            refused("write/one", "DEV-ALIAS-1", "/alias"),
            refused("record/one", "DEV-REC-1", "/record"),
            refused("write/two", "DEV-ALIAS-2", "/alias", "404"),
        ],
        FAILING,
        PARTS,
    )
    assert [(each.verdict.check, [other.check for other in each.same_answer]) for each in found] == [
        ("write/one", ["poll/one"]),
        ("write/two", []),
        ("record/one", []),
    ]
