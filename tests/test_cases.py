"""Tables of cases: all rows run, and failures name their rows."""

from __future__ import annotations

import inspect

import pytest

from tests.cases import case, cases


def test_every_case_runs_with_the_same_fixtures_and_failures_are_named() -> None:
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


async def test_async_cases_and_several_failures_as_a_group() -> None:
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


def test_no_cases_and_unknown_parameters_are_errors() -> None:
    with pytest.raises(ValueError, match="proves nothing"):
        cases("a", [])
    with pytest.raises(ValueError, match="test has no parameter b"):

        @cases("b", [1])
        def test(a: int) -> None: ...


def test_a_single_case_is_named_too() -> None:
    with pytest.raises(ZeroDivisionError) as failed, case("by itself"):
        1 / 0  # noqa: B018 - it raises
    assert failed.value.__notes__ == ["case: by itself"]
