"""Values that a story draws: from strategies of hypothesis, and by short forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, overload

from labkit.control.clock import number_of
from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.core.handle import Handle
from labkit.hunt.literals import is_literal, kept

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")

LADDER = (0.000_001, 1.0, 30.0, 600.0)  # seconds: an instant, an answer, a timeout, an outage
MAX_SHOWN = 20  # draws that a description shows


class OtherValueError(LabError):
    """A story that draws another value than it was given."""


class DrawFrom(Protocol):
    """Interface of what draws a value from a strategy, such as `draw` of hypothesis' `data()`."""

    def __call__(self, strategy: SearchStrategy[Any], label: Any = None) -> Any: ...


class Draw(Handle):
    """Drawer of a story's values, which the seed of a play fixes: `draw(strategies.text())`, `draw.seconds()`.

    Behaviours, handlers in threads and functions of `lab.at` may draw, too, since one thing happens at a time.
    values: all values drawn so far, oldest first, with their labels (None without one); of a choice among objects that
    are no Python literals, such as devices, the number of the option, from 0: `{"option": 2}`.
    """

    def __init__(self, draw: DrawFrom) -> None:
        self.values: list[tuple[str | None, object]] = []
        self._draw = draw
        self._stopped: BaseException | None = None

    def __call__(self, strategy: SearchStrategy[T], label: str | None = None) -> T:
        """Return a value of a strategy of hypothesis.

        label: name of the value, for the description of a play.
        """
        try:
            value = self._draw(strategy, label)
        except BaseException as error:
            if is_end(error):
                self._stopped = self._stopped or error
            raise
        self.values.append((label, kept(value)))
        return cast(T, value)

    @overload
    def number(self, low: int, high: int, label: str | None = None) -> int: ...
    @overload
    def number(self, low: float, high: float, label: str | None = None) -> float: ...
    def number(self, low: float, high: float, label: str | None = None) -> float:
        """Return a number from `low` to `high`, both included: a whole number if both are.

        low, high: the bounds; label: as of a call. Raises LabError for bounds that are not finite numbers in order.
        """
        least, most = number_of(low, "number: low"), number_of(high, "number: high")
        if least > most:
            raise LabError(f"number: low is {low!r}, which is above high, {high!r}")
        strategies = _strategies()
        is_whole = isinstance(low, int) and isinstance(high, int)
        value = self(strategies.integers(low, high) if is_whole else strategies.floats(least, most), label)
        fits = isinstance(value, int if is_whole else int | float) and least <= value <= most
        return cast(float, self._expect(fits, value, f"a number from {low} to {high}"))

    def choice(self, options: Sequence[T], label: str | None = None) -> T:
        """Return one of the options. The first is the simplest, to which a failure is cut down.

        options: a list or another sequence, not empty; label: as of a call. Raises LabError without options.
        """
        try:
            count = len(options)
        except TypeError:
            count = 0
        if not count:
            raise LabError(f"choice: expected a list of options, not {options!r}")
        value = self(_strategies().sampled_from(options), label)
        match value:
            case {"option": int(number)} if 0 <= number < count and value not in options:  # given, not drawn
                return options[number]
        place = next((place for place, each in enumerate(options) if each is value or each == value), None)
        self._expect(place is not None, value, f"one of {options!r:.200}")
        if not is_literal(value):
            self.values[-1] = (label, {"option": place})
        return cast(T, value)

    def seconds(self, *ladder: float, label: str | None = None) -> float:
        """Return a time in seconds from a short ladder: by default 1 µs, 1 s, 30 s or 10 min.

        ladder: the times to choose from, the simplest first; label: as of a call. Raises LabError for a negative time.
        """
        for each in ladder:
            if number_of(each, "seconds") < 0:
                raise LabError(f"seconds: expected times of 0 or more seconds, not {each!r}")
        return float(self.choice(ladder or LADDER, label))

    def chance(self, share: float, label: str | None = None) -> bool:
        """Return True in a share of the plays, from 0 to 1.

        share: 0.1 for one play of ten; label: as of a call. Raises LabError for another number.
        """
        if not 0 <= number_of(share, "chance") <= 1:
            raise LabError(f"chance: expected a share from 0 to 1, not {share!r}")
        numbers = _strategies().integers(1, 1_000_000)  # of which the smallest, the simplest, is False
        return bool(self(numbers.map(lambda number: number > (1 - share) * 1_000_000), label))

    def _expect(self, fits: bool, value: T, expected: str) -> T:
        """Return a value if it fits, as all drawn ones do. Raises OtherValueError for a given one that does not."""
        if not fits:
            self._stopped = OtherValueError(
                f"the story draws {expected}, and the given value is {value!r:.100}"
            )
            raise self._stopped
        return value

    def expect_running(self) -> None:
        """Raise what ended the play in a draw of another thread, if anything did."""
        if self._stopped is not None:
            raise self._stopped

    def __str__(self) -> str:
        """Return the values drawn, as text."""
        shown = [
            f"{value!r:.60}" if label is None else f"{label} {value!r:.60}" for label, value in self.values
        ]
        more = len(shown) - MAX_SHOWN
        return ", ".join(shown[:MAX_SHOWN]) + (f", and {more} more" if more > 0 else "") or "nothing"


def is_end(error: BaseException) -> bool:
    """Return whether an error ends a play, since the values are no future of the story."""
    with needs("lab"):
        from hypothesis.errors import UnsatisfiedAssumption
    return isinstance(error, UnsatisfiedAssumption | OtherValueError) or not isinstance(error, Exception)


def _strategies() -> Any:
    with needs("lab"):
        from hypothesis import strategies
    return strategies
