"""Declaration of a game's commands, on the methods that play them, with the values that are drawn for their parameters.

Only the search for sequences imports it, with the games: Hypothesis comes with labkit[lab] only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from labkit.conformance.models.rules import shortened

Method = TypeVar("Method", bound=Callable[..., Awaitable[None]])


@dataclass(frozen=True, slots=True)
class Command:
    """A method of a game and its arguments."""

    method: str
    arguments: dict[str, Any]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={shortened(value)}" for name, value in self.arguments.items())
        return f"{self.method}({shown})"


class Commands:
    """Decorator of a game's methods that are commands, `@command(role=ROLES)`: it draws a value for each parameter.

    usual: the values of parameters of these names, unless a command has others of its own.
    """

    def __init__(self, **usual: Any) -> None:
        self._usual = usual

    def __call__(self, times: int = 1, **own: Any) -> Callable[[Method], Method]:
        """Declare a command. times: how many times as often as others it is drawn; own: values of its parameters."""
        values = self._usual | own

        def declare(method: Method) -> Method:
            _, *parameters = signature(method).parameters.values()
            drawn = {
                each.name: one_of(values[each.name])
                for each in parameters
                if each.default is Parameter.empty or each.name in values
            }

            def made(arguments: tuple[Any, ...]) -> Command:
                return Command(method.__name__, dict(zip(drawn, arguments, strict=True)))

            # made anew each time, since Hypothesis counts an object once among the branches of a choice
            commands = [st.tuples(*drawn.values()).map(made) for _ in range(times)]
            vars(method).setdefault("commands", []).extend(commands)
            return method

        return declare


def one_of(*values: Any) -> SearchStrategy[Any]:
    """Return a strategy for any of the given: a strategy, a range, `bool`, or a collection to choose from."""
    return st.one_of(*map(_strategy, values))


def _strategy(values: Any) -> SearchStrategy[Any]:
    if isinstance(values, SearchStrategy):
        return values
    if isinstance(values, range):
        return st.integers(values[0], values[-1])
    return st.booleans() if values is bool else st.sampled_from(values)


def together(*values: Any) -> SearchStrategy[Any]:
    """Return a strategy for tuples with one of each of the given, as in `one_of`."""
    return st.tuples(*map(_strategy, values))


def several(values: Any, most: int, least: int = 0, **options: Any) -> SearchStrategy[Any]:
    """Return a strategy for tuples of `least` to `most` of the given, as in `one_of`. options: of Hypothesis' lists."""
    return st.lists(_strategy(values), min_size=least, max_size=most, **options).map(tuple)


def dicts(keys: Any, values: Any, most: int | None = None, least: int = 0) -> SearchStrategy[Any]:
    """Return a strategy for dicts of `least` to `most` keys with values, both as in `one_of`."""
    return st.dictionaries(_strategy(keys), _strategy(values), min_size=least, max_size=most)


def optional(needed: Mapping[str, Any] | None = None, /, **values: Any) -> SearchStrategy[Any]:
    """Return a strategy for dicts with all needed keys and some of the others, each with one of the given values."""
    return st.fixed_dictionaries(_each(needed or {}), optional=_each(values))


def _each(values: Mapping[str, Any]) -> dict[str, SearchStrategy[Any]]:
    return {name: _strategy(each) for name, each in values.items()}
