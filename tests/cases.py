"""Tables of cases for one test, which share a set-up that takes longer than a case."""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

SHOWN = reprlib.Repr()  # limit on the items and levels of a shown row
SHOWN.maxstring = SHOWN.maxother = SHOWN.maxlong = 200
SHOWN.maxlist = SHOWN.maxtuple = SHOWN.maxdict = 12


@contextmanager
def case(name: object) -> Iterator[None]:
    """Add the name of this case to an exception raised inside."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"case: {name}")
        raise


def cases(
    names: str | Sequence[str], rows: Iterable[Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Run a test for every row of a table, with the same fixtures for all rows, also after a failure of one row.

    For rows that are faster than collecting, setting up and reporting a test. names: the parameters, with commas or
    as a list.
    Raises, from the test, the failure of the one row that failed, or a group of several failures; each shows its row.
    """
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [dict(zip(parameters, row if len(parameters) > 1 else [row], strict=True)) for row in rows]
    if not given:
        raise ValueError("a test without cases proves nothing")

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(test)
        missing = set(parameters) - set(signature.parameters)
        if missing:
            raise ValueError(f"{test.__name__} has no parameter {', '.join(sorted(missing))}")

        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def play(*arguments: Any, **fixtures: Any) -> None:
                failures: list[Exception] = []
                for row in given:
                    with _kept(row, failures):
                        await test(*arguments, **fixtures, **row)
                _raise(failures)
        else:

            @functools.wraps(test)
            def play(*arguments: Any, **fixtures: Any) -> None:
                failures: list[Exception] = []
                for row in given:
                    with _kept(row, failures):
                        test(*arguments, **fixtures, **row)
                _raise(failures)

        fixtures = [each for name, each in signature.parameters.items() if name not in parameters]
        play.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return play

    return decorate


class _Shown(dict[str, Any]):
    """Short representation of a row."""

    def __str__(self) -> str:
        return ", ".join(f"{name}={SHOWN.repr(value)}" for name, value in self.items())


@contextmanager
def _kept(row: dict[str, Any], failures: list[Exception]) -> Iterator[None]:
    try:
        with case(_Shown(row)):
            yield
    except Exception as error:  # noqa: BLE001 - raised once all rows were played
        failures.append(error)


def _raise(failures: list[Exception]) -> None:
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup(f"{len(failures)} cases failed", failures)
