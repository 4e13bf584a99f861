"""A table of cases plays all of them, and says which failed."""

from __future__ import annotations

import inspect

import pytest

from tests.cases import case, cases


def test_every_case_is_played_with_the_same_fixtures_and_each_that_failed_is_named() -> None:
    played: list[tuple[object, ...]] = []

    @cases("a, b", [(1, 2), (3, 3), (4, 5)])
    @cases("c", ["x", "y"])
    def test(shared: str, a: int, b: int, c: str) -> None:
        played.append((shared, a, b, c))
        assert a != b or c == "y"

    assert list(inspect.signature(test).parameters) == ["shared"]
    with pytest.raises(AssertionError) as failed:
        test(shared="s")
    assert failed.value.__notes__ == ["case: c='x'", "case: a=3, b=3"]
    assert played == [("s", *row, c) for row in ((1, 2), (3, 3), (4, 5)) for c in "xy"]


async def test_so_it_is_where_it_awaits_and_several_that_failed_are_a_group() -> None:
    @cases(["a"], [[1], [2], [3]])
    async def by_list(a: list[int]) -> None:
        raise ValueError(a)

    @cases("a", range(3))
    async def test(a: int) -> None:
        assert a == 1

    with pytest.raises(ExceptionGroup, match="2 cases failed") as failed:
        await test()
    assert [each.__notes__ for each in failed.value.exceptions] == [["case: a=0"], ["case: a=2"]]
    with pytest.raises(ExceptionGroup, match="3 cases failed"):
        await by_list()


def test_none_and_such_as_the_test_does_not_know_are_mistakes() -> None:
    with pytest.raises(ValueError, match="proves nothing"):
        cases("a", [])
    with pytest.raises(ValueError, match="test has no parameter b"):

        @cases("b", [1])
        def test(a: int) -> None: ...


def test_a_case_by_itself_is_named_too() -> None:
    with pytest.raises(ZeroDivisionError) as failed, case("by itself"):
        1 / 0  # noqa: B018 - it raises
    assert failed.value.__notes__ == ["case: by itself"]
