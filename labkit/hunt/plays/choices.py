"""Values of a play as choices of hypothesis, which can be made simpler one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from labkit.core.extras import needs
from labkit.hunt.draw import DrawFrom, OtherValueError
from labkit.hunt.literals import kept

Choice = bool | int | float | str | bytes
Size = tuple[float, float]  # of a choice: the smaller, the simpler
OPTIONS = 256  # choices that are tried for a value of which the choices are unknown
TRUE = 1_000_000  # choice of `Draw.chance` for True
GIVEN: Size = (math.inf, 0)  # size of a value whose choices are unknown


@dataclass(frozen=True)
class ChosenValue:
    """A value that a story drew, as the choices that make it.

    label: as of a draw; choices: None for a value whose choices are unknown, as of a written play; simplest: to what
    each choice can be cut down; value: where it is unknown how it is made, or a bool.
    """

    label: str | None = None
    choices: tuple[Choice, ...] | None = ()
    simplest: tuple[Choice, ...] = ()
    value: object = None

    @property
    def sizes(self) -> tuple[Size, ...]:
        """Sizes of the choices."""
        if self.choices is None:
            return (GIVEN,)
        return tuple(map(_size, self.choices, self.simplest))

    def simpler(self, part: int, low: int) -> Iterator[tuple[int, int, ChosenValue]]:
        """Yield simpler values to try, each with the part and the bound at which the search goes on if it will do.

        part: number of the choice to begin with; low: distance from its simplest value that is known to be too small.
        """
        choices = self.choices
        is_whole = choices is None or isinstance(self.value, bool)  # all or nothing
        if (is_whole or len(choices or ()) > 1) and part == low == 0 and any(map(any, self.sizes)):
            yield 0, 0, replace(self, choices=())
        if choices is None or is_whole:
            return
        for place in range(part, len(choices)):
            before, after = choices[:place], choices[place + 1 :]
            if len(choices) > 1 and not low:
                for count in (8, 4, 2, 1):
                    if place + count <= len(choices):
                        yield place, 0, replace(self, choices=before + choices[place + count :])
            for distance, each in _simpler(choices[place], self.simplest[place], low):
                yield place, distance, replace(self, choices=(*before, each, *after))
            low = 0


class ChosenValues:
    """Source of the values of a play: chosen ones, and the simplest where the story draws others.

    given: as many as the story may draw. drawn: those of the play so far.
    """

    def __init__(self, given: Iterable[ChosenValue]) -> None:
        self.drawn: list[ChosenValue] = []
        self._given = list(given)

    def __call__(self, strategy: Any, label: Any = None) -> Any:
        """Return the next value. Raises OtherValueError for one too many, and where the strategy has no such value."""
        if len(self.drawn) == len(self._given):
            raise OtherValueError(f"the story draws more than {len(self._given)} values")
        given = self._given[len(self.drawn)]
        if given.choices is None and given.label == label:
            found = given if given.simplest else _known(strategy, given)
            value = given.value
        else:
            found, value = _made(strategy, label, given.choices or () if given.label == label else ())
        self.drawn.append(found)
        return kept(value)


def recorded(drawn: list[ChosenValue]) -> Callable[[Any], DrawFrom]:
    """Return the source of a `FuturePlayer` that notes what is drawn."""

    def source(data: Any) -> DrawFrom:
        def draw(strategy: Any, label: Any = None) -> Any:
            first = len(data.conjecture_data.nodes)
            value = data.draw(strategy, label)
            drawn.append(_chosen(label, data.conjecture_data.nodes[first:], value))
            return value

        return draw

    return source


def _chosen(label: str | None, nodes: Sequence[Any], value: object) -> ChosenValue:
    with needs("lab"):
        from hypothesis.internal.conjecture.choice import choice_from_index

    simplest = tuple(choice_from_index(0, each.type, each.constraints) for each in nodes)
    choices = tuple(each.value for each in nodes)
    return ChosenValue(label, choices, simplest, value if isinstance(value, bool) else None)


def _made(strategy: Any, label: str | None, choices: Sequence[Choice]) -> tuple[ChosenValue, Any]:
    """Return the value of a strategy by choices, of which missing and impossible ones are the simplest."""
    with needs("lab"):
        from hypothesis.control import BuildContext
        from hypothesis.errors import StopTest
        from hypothesis.internal.conjecture.choice import ChoiceTemplate
        from hypothesis.internal.conjecture.data import ConjectureData

    data = ConjectureData.for_choices((*choices, ChoiceTemplate("simplest", None)))
    try:
        with BuildContext(data, wrapped_test=_made):
            value = data.draw(strategy)
    except StopTest:
        raise OtherValueError(f"{strategy!r:.100} has no value by these choices") from None
    return _chosen(label, data.nodes, value), value


def _known(strategy: Any, given: ChosenValue) -> ChosenValue:
    """Return a given value with its choices as far as one choice makes it."""
    value: Any = given.value
    option = value["option"] if isinstance(value, dict) and value.keys() == {"option"} else None
    simplest: tuple[Choice, ...] = ()
    for each in (option,) if option is not None else chain((value,), range(OPTIONS), (TRUE,)):
        if not isinstance(each, Choice):
            continue
        try:
            found, made = _made(strategy, given.label, (each,))
        except OtherValueError:
            continue
        simplest = simplest or found.simplest
        is_same = option is not None or (type(made) is type(value) and made == value)
        if found.choices == (each,) and is_same:
            return found
    return replace(given, simplest=simplest or (0,))


def _size(choice: Choice, simplest: Choice) -> Size:
    if isinstance(choice, str | bytes):
        return len(choice), sum(each not in ("0", 0) for each in choice)
    if isinstance(choice, float) and not math.isfinite(choice):
        return GIVEN
    return abs(choice - simplest), 0  # type: ignore[operator]


def _simpler(choice: Choice, simplest: Any, low: int) -> Iterator[tuple[int, Choice]]:
    """Yield simpler choices, each with the distance from the simplest that is too small if it will do."""
    if choice == simplest:
        return
    if not low:
        yield 0, simplest
    if isinstance(choice, str | bytes):
        half, zero = len(choice) // 2, "0" if isinstance(choice, str) else b"0"
        shorter = [choice[:half], choice[half:], choice[:-1], choice[1:]]
        zeros: Any = [choice[:n] + zero + choice[n + 1 :] for n in range(len(choice))]  # type: ignore[operator]
        yield from ((0, each) for each in (*shorter, *zeros))
    elif isinstance(choice, float) and not choice.is_integer():
        if math.isfinite(choice):
            yield 0, float(math.trunc(choice))
    elif not isinstance(choice, bool):
        high, sign = abs(int(choice) - int(simplest)), 1 if choice > simplest else -1
        while high - low > 1:
            middle = (low + high) // 2
            yield low, type(choice)(int(simplest) + sign * middle)
            low = middle
