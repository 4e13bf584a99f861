"""Coverage: all checks and mutants count, and every gap shows."""

from labkit.conformance.coverage import coverage, in_order
from tests.reporting.books import small


class TestThisLabkit:
    def test_every_check_and_mutant_names_requirements_that_exist(self) -> None:
        assert coverage().unknown_requirements == ()

    def test_names_of_checks_and_mutants_are_unique(self) -> None:
        whole = coverage()
        for things in (whole.checks, whole.mutants):
            names = [each.name for each in things]
            assert len(set(names)) == len(names)

    def test_every_requirement_has_a_check(self) -> None:
        assert [each.id for each in coverage().unchecked] == []

    def test_every_must_is_broken_by_a_mutant_or_has_a_reason_why_none_can(self) -> None:
        assert [each.id for each in coverage().unproved] == []

    def test_requirements_that_are_not_mutable_have_no_mutant(self) -> None:
        assert [each.id for each in coverage().not_mutable if each.mutants] == []

    def test_every_check_and_mutant_has_a_title(self) -> None:
        whole = coverage()
        assert [each.name for each in whole.checks if not each.title.strip()] == []
        assert [each.name for each in whole.mutants if not each.title.strip()] == []

    def test_counts_add_up(self) -> None:
        counts = coverage().counts()
        assert (
            counts["requirements of level must"] + counts["requirements of level choice"]
            == counts["requirements"]
        )
        assert counts["requirements of level must"] == (
            counts["must requirements with a mutant"]
            + counts["must requirements that are not mutable"]
            + counts["must requirements without mutant"]
        )


class TestASmallOne:
    def test_each_requirement_finds_its_checks_and_mutants(self) -> None:
        found = {each.id: ([c.name for c in each.checks], [m.name for m in each.mutants]) for each in small()}
        assert found == {
            "AA-ONE-1": (["one/first", "one/second"], ["one/slow"]),
            "AA-ONE-2": (["one/second", "two/other"], []),
            "AA-TWO-1": ([], []),
        }

    def test_gaps_show(self) -> None:
        whole = small()
        assert [each.id for each in whole.unchecked] == ["AA-TWO-1"]
        assert [each.id for each in whole.unproved] == []
        assert [each.id for each in whole.not_mutable] == ["AA-TWO-1"]
        assert [each.id for each in whole.choices] == ["AA-ONE-2"]
        assert whole.counts()["must requirements with a mutant"] == 1

    def test_checks_are_in_the_order_of_the_requirements(self) -> None:
        whole = small()
        names = [each.name for each in in_order(reversed(whole.checks), whole.catalogue)]
        assert names.index("two/other") == 2
        assert [each.name for each in whole.checks] == ["one/first", "one/second", "two/other"]
