"""The matrix of requirements, and its file in the repository."""

from dataclasses import replace

from labkit.conformance.coverage import cover
from labkit.conformance.models.game import Game
from labkit.conformance.models.search import Model
from labkit.conformance.verdict import Outcome, Verdict
from labkit.reporting import matrix
from tests.cases import cases
from tests.reporting.books import small, verdict


def states(*verdicts: tuple[str, Outcome]) -> dict[str, str]:
    made = [verdict(check, "AA-ONE-1", outcome) for check, outcome in verdicts]
    return {row.id: row.state for row in matrix.rows(small(), made)}


@cases(
    ("first", "second", "state"),
    [
        ("passed", "passed", "passed"),
        ("passed", "skipped", "passed"),
        ("skipped", "skipped", "skipped"),
        ("passed", "warned", "warned"),
        ("warned", "broken", "broken"),
        ("broken", "failed", "failed"),
        ("failed", "passed", "failed"),
        ("passed", "not reached", "not reached"),
        ("not reached", "failed", "failed"),
    ],
)
def test_a_requirement_has_the_state_of_its_worst_check(first: Outcome, second: Outcome, state: str) -> None:
    assert states(("one/first", first), ("one/second", second))["AA-ONE-1"] == state


def test_a_model_that_did_not_reach_a_requirement_does_not_count() -> None:
    catalogue, first = small().catalogue, next(each for each in small().checks if each.name == "one/first")
    model = replace(first, name="one/second", model=Model((), lambda: Game))
    coverage = cover(catalogue, [first, model], [])

    def state(*verdicts: Verdict) -> str:
        return next(row.state for row in matrix.rows(coverage, verdicts) if row.id == "AA-ONE-1")

    unreached = verdict("one/second", "AA-ONE-1", "not reached")
    assert state(verdict("one/first", "AA-ONE-1"), unreached) == "passed"
    assert state(unreached) == "not reached"


def test_requirements_without_a_run_or_a_check_are_marked() -> None:
    assert states(("one/first", "passed")) == {
        "AA-ONE-1": "passed", "AA-ONE-2": "not run", "AA-TWO-1": "no check"
    }  # fmt: skip


def test_a_check_of_two_notebooks_counts_once_with_the_worst_outcome() -> None:
    good, bad = verdict("a/b", "AA-ONE-1"), verdict("a/b", "AA-ONE-1", "failed", reason="second time")
    other = verdict("a/c", "AA-ONE-1", "skipped")
    assert matrix.merged([good, other, bad]) == [bad, other]
    assert matrix.merged([bad, good]) == [bad]


def test_the_file_has_a_line_per_requirement_and_nothing_specific_to_a_run() -> None:
    coverage = small()
    verdicts = [
        verdict("one/first", "AA-ONE-1"),
        verdict("one/second", "AA-ONE-1 AA-ONE-2", "failed", reason="took 3.5 s"),
    ]
    text = matrix.markdown(matrix.rows(coverage, verdicts), coverage)
    assert "2 statements · 3 requirements (2 must, 1 choice) · 3 checks · 1 mutants" in text
    assert "Requirements: 2 failed, 1 no check." in text
    assert "## AA-ONE: one\n\n2 failed.\n" in text
    assert (
        "| AA-ONE-1 | must | It answers < 1 s &#124; always. | 1/a/1 | ✓ one/first<br>✗ one/second (failed) "
        "| one/slow |" in text
    )
    assert (
        "| AA-TWO-1 | must | Nobody can break it. | 1/a/2 | none | not mutable: it is a definition |" in text
    )
    assert "3.5" not in text
