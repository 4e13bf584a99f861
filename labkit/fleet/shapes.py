"""Shapes of load: a number as a function of lab time.

A shape says how many devices are online (a closed loop: each goes on when it is answered), or how many requests a
second each device begins (an open rate: they come when they come, however slow the server is, and latency counts
from the intended time). Shapes add up, and a number makes one larger or smaller: `DailyWave(100, 900) + Flat(50) * 2`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Protocol, TypeGuard

from labkit.core.errors import LabError

DAY = 86_400.0
WINDOW = (
    600.0  # seconds: so long one bound of the rate is used, so that a short peak costs no draws elsewhere
)
RESOLUTION = 1.0  # seconds: between two looks at how many are online
PRECISION = 0.001  # seconds: to which the instant of a change is found
ANNOUNCED = 3_600.0  # seconds: so often `online` says the number although it is the same


class Chance(Protocol):
    """What arrivals draw from: a random.Random."""

    def random(self) -> float:
        """A number from 0 up to 1, without 1."""
        ...


class Shape(ABC):
    """A number of at least 0 for each instant of a run."""

    @abstractmethod
    def at(self, elapsed: float, start: float = 0.0) -> float:
        """The number `elapsed` seconds after the run's start, which is lab time in Unix seconds."""

    @abstractmethod
    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        """A number that `at` never exceeds from `begin` to `end`, which may be infinite."""

    def __add__(self, other: Shape) -> Shape:
        if not isinstance(other, Shape):
            raise LabError(f"a shape adds up with a shape, such as Flat(5), not with {other!r:.100}")
        return Sum((self, other))

    def __radd__(self, other: object) -> Shape:
        if other == 0:  # where `sum` begins
            return self
        raise LabError(f"a shape adds up with a shape, such as Flat(5), not with {other!r:.100}")

    def __mul__(self, factor: float) -> Shape:
        return Scaled(self, factor)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Flat(Shape):
    """The same number always."""

    value: float

    def __post_init__(self) -> None:
        _check(self, value=self.value)

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return self.value

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return self.value


@dataclass(frozen=True)
class Ramp(Shape):
    """From one number to another within `over` seconds, then that for ever."""

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
    """A number from each of these seconds on: `Steps({0: 10, 60: 50, 120: 10})`; 0 before the first."""

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
        object.__setattr__(self, "_times", times)  # a frozen object's own, sorted once
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
    """A thundering herd: `value`; nothing during an outage; then `surge` times as much at once, which ebbs away.

    begins: seconds from the run's start to the outage, which lasts `outage` seconds; recovery: seconds in which the
    surplus falls to 1/e of what it was. As a number of devices, more than the fleet has is all of it.
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
    """Several shapes, added up."""

    shapes: tuple[Shape, ...]

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return sum(shape.at(elapsed, start) for shape in self.shapes)

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return sum(shape.most(begin, end, start) for shape in self.shapes)


@dataclass(frozen=True)
class Scaled(Shape):
    """A shape, so many times."""

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
    """Of a number of devices, how many are in one of several shares to which devices are dealt one by one."""

    shape: Shape
    share: int  # from 0
    shares: int

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return self._of(math.floor(self.shape.at(elapsed, start) + 0.5))

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return self._of(math.floor(self.shape.most(begin, end, start) + 0.5))

    def _of(self, number: int) -> int:
        return max(-(-(number - self.share) // self.shares), 0)


@dataclass(frozen=True)
class Delayed(Shape):
    """A shape of which the first seconds are over already."""

    shape: Shape
    over: float

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return self.shape.at(elapsed + self.over, start - self.over)

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return self.shape.most(begin + self.over, end + self.over, start - self.over)


class Dial(Shape):
    """A shape that is made larger or smaller while it is used: `factor`."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.factor = 1.0

    def at(self, elapsed: float, start: float = 0.0) -> float:
        return self.factor * self.shape.at(elapsed, start)

    def most(self, begin: float, end: float, start: float = 0.0) -> float:
        return self.factor * self.shape.most(begin, end, start)


def scaled(dial: Dial | None, factor: float) -> None:
    """Turn the dial of a run. Raises LabError where there is none, and for a factor that is none."""
    if dial is None:
        raise LabError("arrivals: this run has no rate of them, run(…, arrivals=Flat(0.1)) gives it one")
    if type(factor) not in (int, float) or not 0 < factor < math.inf:
        raise LabError(f"arrivals: expected a factor above 0, not {factor!r}; pause() holds all")
    dial.factor = float(factor)


def arrivals(
    shape: Shape, chance: Chance, start: float, end: float = math.inf, begin: float | None = None
) -> Iterator[float]:
    """The intended times (lab time, Unix seconds) of a Poisson process of this rate a second, until `end`.

    start: of the run, from which the shape counts; begin: the first instant that counts, without one the start.

    By thinning: candidates at the largest rate of a window, each kept with the chance that its own rate is of it
    (P. A. W. Lewis, G. S. Shedler, 1979). Ends where the rate stays 0 for ever.
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
        if candidate >= window:  # an exponential wait has no memory: it begins anew at the window's end
            elapsed = window
            continue
        elapsed = candidate
        if chance.random() * bound < shape.at(elapsed, start):
            yield start + elapsed


def online(shape: Shape, devices: int, start: float, end: float = math.inf) -> Iterator[tuple[float, int]]:
    """When (lab time, Unix seconds) how many of a fleet's devices are to be online: the first so many of it.

    The first is for the start; then one for each change, found to a thousandth of a second, and at least one an hour
    also where nothing changes, so that whoever waits for each of them need not search without end.
    """
    elapsed, last = 0.0, end - start
    number, told = _whole(shape, 0.0, start, devices), 0.0
    yield start, number
    while elapsed < last:
        window = min(elapsed + RESOLUTION, last)
        target = _whole(shape, window, start, devices)
        while number != target:
            elapsed = _change(shape, elapsed, window, start, devices, number)
            number, told = _whole(shape, elapsed, start, devices), elapsed
            yield start + elapsed, number
        elapsed = window
        if elapsed - told >= ANNOUNCED and elapsed < last:
            told = elapsed
            yield start + elapsed, number


def _change(shape: Shape, begin: float, end: float, start: float, devices: int, number: int) -> float:
    """The instant after `begin`, at the latest `end`, from which on as many as `number` no longer is right."""
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
