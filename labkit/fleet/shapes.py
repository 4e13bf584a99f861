"""Load shapes: numbers of devices or rates of requests as functions of lab time.

A shape gives the number of online devices (closed loop: a device continues when it is answered), or the rate of
requests per device and second (open loop: independent of the server's speed, with latency from the intended time).
Shapes can be added, and multiplied by a number: `DailyWave(100, 900) + Flat(50) * 2`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Protocol, TypeGuard

from labkit.core.errors import LabError
from labkit.core.handle import ShortTraceType

DAY = 86_400.0
WINDOW = 600.0  # seconds with a common bound of the rate; a short peak costs draws only in its window
RESOLUTION = 1.0  # seconds between two evaluations of the number of online devices
PRECISION = 0.001  # seconds, of the instant of a change
HEARTBEAT = 3_600.0  # seconds after which `online` repeats an unchanged number


class Chance(Protocol):
    """Random generator for arrivals, such as random.Random."""

    def random(self) -> float:
        """Return a number in [0, 1)."""
        ...


class Shape(metaclass=ShortTraceType):
    """Course of a rate or of a number of devices over a run: Flat, Ramp, Steps, DailyWave, Herd, and sums of them."""

    @abstractmethod
    def at(self, elapsed: float, start: float = 0.0) -> float:
        """Return the number `elapsed` seconds after the run's start (`start`: lab time in Unix seconds)."""

    @abstractmethod
    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        """Return an upper bound of `at` from `begin` to `end` (elapsed seconds; `end` may be infinite).

        start: lab time at which the load began, in seconds since 1970.
        """

    def __add__(self, other: Shape) -> Shape:
        if not isinstance(other, Shape):
            raise LabError(f"a shape adds up with a shape, such as Flat(5), not with {other!r:.100}")
        return Sum((self, other))

    def __radd__(self, other: object) -> Shape:
        if other == 0:  # the start value of `sum`
            return self
        raise LabError(f"a shape adds up with a shape, such as Flat(5), not with {other!r:.100}")

    def __mul__(self, factor: float) -> Shape:
        return Scaled(self, factor)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Flat(Shape):
    """A constant number, `value`."""

    value: float

    def __post_init__(self) -> None:
        _check(self, value=self.value)

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return self.value

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return self.value


@dataclass(frozen=True)
class Ramp(Shape):
    """A linear change from `first` to `last` within `over` seconds, constant afterwards."""

    first: float
    last: float
    over: float

    def __post_init__(self) -> None:
        _check(self, first=self.first, last=self.last)
        _check_positive(self, over=self.over)

    def at(self, elapsed: float, start: float = 0.0) -> float:
        part = min(max(elapsed / self.over, 0.0), 1.0)
        return self.first + (self.last - self.first) * part

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return max(self.at(begin), self.at(end))


@dataclass(frozen=True)
class Steps(Shape):
    """Constant levels by the second at which they begin: `Steps({0: 10, 60: 50, 120: 10})`; 0 before the first."""

    levels: Mapping[float, float]
    _times: list[float] = field(init=False, repr=False, compare=False)
    _values: list[float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given: object = self.levels
        if not isinstance(given, Mapping) or not given:
            raise LabError(f"Steps: expected at least one level, as {{seconds: number}}, not {given!r:.100}")
        _check(self, **{f"the time {time!r:.100}": time for time in self.levels})
        _check(self, **{f"levels[{time}]": level for time, level in self.levels.items()})
        times = sorted(self.levels)
        object.__setattr__(self, "_times", times)  # the dataclass is frozen
        object.__setattr__(self, "_values", [0.0, *(self.levels[time] for time in times)])

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return self._values[bisect_right(self._times, elapsed)]

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return max(self._values[bisect_right(self._times, begin) : bisect_right(self._times, end) + 1])


@dataclass(frozen=True)
class DailyWave(Shape):
    """A cosine over the day: `high` at `peak`, an hour of the day (UTC, lab time), and `low` twelve hours from it."""

    low: float
    high: float
    peak: float = 18.0

    def __post_init__(self) -> None:
        _check(self, low=self.low, high=self.high, peak=self.peak)
        if self.high < self.low:
            raise LabError(f"DailyWave: high has to be at least low ({self.low}), not {self.high}")

    def at(self, elapsed: float, start: float = 0.0) -> float:
        turn = ((start + elapsed) / DAY - self.peak / 24) % 1.0
        return self.low + (self.high - self.low) * (1 + math.cos(2 * math.pi * turn)) / 2

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return self.high


@dataclass(frozen=True)
class Herd(Shape):
    """A thundering herd: `value`; 0 during an outage; then `surge` times `value`, decaying exponentially to `value`.

    begins: seconds from the run's start to the outage; outage: its seconds; recovery: seconds in which the surplus
    falls to 1/e. As a number of devices it is limited by the size of the fleet.
    """

    value: float
    begins: float
    outage: float
    surge: float = 10.0
    recovery: float = 60.0

    def __post_init__(self) -> None:
        _check(self, value=self.value, begins=self.begins, outage=self.outage)
        _check_positive(self, recovery=self.recovery)
        if not (_is_number(self.surge) and 1 <= self.surge < math.inf):
            raise LabError(f"Herd: surge has to be at least 1, not {self.surge!r:.100}")

    def at(self, elapsed: float, start: float = 0.0) -> float:
        back = self.begins + self.outage
        if elapsed < self.begins:
            return self.value
        if elapsed < back:
            return 0.0
        return self.value * (1 + (self.surge - 1) * math.exp((back - elapsed) / self.recovery))

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        back = self.begins + self.outage
        peak = self.at(max(begin, back)) if end >= back else 0.0
        return max(peak, self.at(begin))


@dataclass(frozen=True)
class Sum(Shape):
    """The sum of several shapes."""

    shapes: tuple[Shape, ...]

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return sum(shape.at(elapsed, start) for shape in self.shapes)

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return sum(shape.most(begin, end, start) for shape in self.shapes)


@dataclass(frozen=True)
class Scaled(Shape):
    """A shape multiplied by a factor."""

    shape: Shape
    factor: float

    def __post_init__(self) -> None:
        _check(self, factor=self.factor)

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return self.factor * self.shape.at(elapsed, start)

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return self.factor * self.shape.most(begin, end, start)


@dataclass(frozen=True)
class Portion(Shape):
    """Number of devices in one shard, if the total is distributed over the shards round-robin."""

    shape: Shape
    shard: int  # from 0
    shards: int

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return self._part(math.floor(self.shape.at(elapsed, start) + 0.5))

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return self._part(math.floor(self.shape.most(begin, end, start) + 0.5))

    def _part(self, number: int) -> int:
        return max(-(-(number - self.shard) // self.shards), 0)


@dataclass(frozen=True)
class Delayed(Shape):
    """Shape shifted in time: its first `over` seconds are skipped."""

    shape: Shape
    over: float

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return self.shape.at(elapsed + self.over, start - self.over)

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return self.shape.most(begin + self.over, end + self.over, start - self.over)


class Dial(Shape):
    """Shape multiplied by a factor that may change during a run."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.factor = 1.0

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return self.factor * self.shape.at(elapsed, start)

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return self.factor * self.shape.most(begin, end, start)


def scaled(dial: Dial | None, factor: float) -> None:
    """Set the factor of a run's arrivals. Raises LabError for a run without arrivals, and for an invalid factor."""
    if dial is None:
        raise LabError("arrivals: this run has no rate of them, run(…, arrivals=Flat(0.1)) gives it one")
    if type(factor) not in (int, float) or not 0 < factor < math.inf:
        raise LabError(f"arrivals: expected a factor above 0, not {factor!r}; pause() holds all")
    dial.factor = float(factor)


def arrivals(
    shape: Shape, chance: Chance, start: float, end: float = math.inf, begin: float | None = None
) -> Iterator[float]:
    """Yield the arrival times (lab time, Unix seconds) of a Poisson process with this rate per second, until `end`.

    start: of the run, the origin of the shape; begin: of the process, by default the start. Ends once the rate stays 0
    for ever.

    Thinning: candidates are drawn at the largest rate of a window, and kept with probability rate / largest rate
    (P. A. W. Lewis, G. S. Shedler, 1979).
    """
    elapsed, last = (0.0 if begin is None else begin - start), end - start
    while elapsed < last:
        window = min(elapsed + WINDOW, last)
        bound = shape.most(elapsed, window, start)
        if bound <= 0:
            if shape.most(elapsed, math.inf, start) <= 0:
                return
            elapsed = window
            continue
        candidate = elapsed - math.log(1 - chance.random()) / bound
        if candidate >= window:  # an exponential wait has no memory: draw again from the window's end
            elapsed = window
            continue
        elapsed = candidate
        if chance.random() * bound < shape.at(elapsed, start):
            yield start + elapsed


def online(shape: Shape, devices: int, start: float, end: float = math.inf) -> Iterator[tuple[float, int]]:
    """Yield the changes of the number of online devices: lab time (Unix seconds) and number.

    The first is at the start; then one at each change, to a thousandth of a second. An hour without a change repeats
    the number, so that the search for the next change always returns.
    """
    elapsed, last = 0.0, end - start
    number, yielded = _whole(shape, 0.0, start, devices), 0.0
    yield start, number
    while elapsed < last:
        window = min(elapsed + RESOLUTION, last)
        target = _whole(shape, window, start, devices)
        while number != target:
            elapsed = _change(shape, elapsed, window, start, devices, number)
            number, yielded = _whole(shape, elapsed, start, devices), elapsed
            yield start + elapsed, number
        elapsed = window
        if elapsed - yielded >= HEARTBEAT and elapsed < last:
            yielded = elapsed
            yield start + elapsed, number


def _change(shape: Shape, begin: float, end: float, start: float, devices: int, number: int) -> float:
    """Return the instant, after `begin` and at the latest `end`, at which the number of devices changes."""
    while end - begin > PRECISION:
        middle = (begin + end) / 2
        if _whole(shape, middle, start, devices) == number:
            begin = middle
        else:
            end = middle
    return end


def _whole(shape: Shape, elapsed: float, start: float, devices: int) -> int:
    return min(math.floor(shape.at(elapsed, start) + 0.5), devices)


def _check(shape: Shape, **numbers: object) -> None:
    for name, number in numbers.items():
        if not (_is_number(number) and 0 <= number < math.inf):
            raise LabError(
                f"{type(shape).__name__}: {name} has to be a number of at least 0, not {number!r:.100}"
            )


def _check_positive(shape: Shape, **numbers: object) -> None:
    for name, number in numbers.items():
        if not (_is_number(number) and 0 < number < math.inf):
            raise LabError(f"{type(shape).__name__}: {name} has to be a number above 0, not {number!r:.100}")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)
