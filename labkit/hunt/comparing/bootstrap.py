"""Bootstrap intervals of means and of differences between means, the same ones each time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from labkit.control.clock import number_of
from labkit.core.errors import LabError
from labkit.core.extras import needs

RESAMPLES = 5000
LEVEL = 0.95
SEED = 7
FEWEST = 6  # values for an interval: of six pairs, all have one sign by chance in 3 % of the cases


class Estimate(NamedTuple):
    """A mean, or a difference of two, with the bounds of its interval: nan with fewer than six values."""

    mean: float
    low: float
    high: float

    @property
    def is_more_than_chance(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return self.low > 0 or self.high < 0


def mean_interval(values: Sequence[float], *, level: float = LEVEL, seed: int = SEED) -> Estimate:
    """Return the mean of values with its interval.

    values: numbers, one for each play; level: share of intervals that contain the true mean, between 0 and 1; seed: of
    the resampling. Percentiles of the means of resampled values (Efron, 1979). Raises LabError for another level.
    """
    return _estimate(_means(values, _generator(seed)), _mean(values), len(values), level)


def difference_interval(
    a: Sequence[float], b: Sequence[float], *, paired: bool, level: float = LEVEL, seed: int = SEED
) -> Estimate:
    """Return the mean of `b` less that of `a`, with its interval.

    paired: whether the values at one place belong together, as plays of one seed do: then their differences are
    resampled; level, seed: as of `mean_interval`. Raises LabError for pairs of unequal number.
    """
    if paired:
        if len(a) != len(b):
            raise LabError(f"pairs: {len(a)} values cannot be paired with {len(b)}")
        return mean_interval(
            [after - before for before, after in zip(a, b, strict=True)], level=level, seed=seed
        )
    generator = _generator(seed)
    means = _means(b, generator) - _means(a, generator)
    return _estimate(means, _mean(b) - _mean(a), min(len(a), len(b)), level)


def expect_level(level: float) -> float:
    """Return the level of an interval. Raises LabError unless it lies between 0 and 1."""
    if not 0 < number_of(level, "level") < 1:
        raise LabError(f"level: expected a share between 0 and 1, such as 0.95, not {level!r}")
    return level


def _estimate(means: Any, mean: float, count: int, level: float) -> Estimate:
    import numpy as np

    expect_level(level)
    if count < FEWEST:
        return Estimate(mean, math.nan, math.nan)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(mean, float(low), float(high))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan


def _means(values: Sequence[float], generator: Any) -> Any:
    """Return the means of resampled values."""
    import numpy as np

    if not len(values):
        return np.full(RESAMPLES, math.nan)
    given = np.asarray(values, dtype=float)
    return generator.choice(given, (RESAMPLES, len(given))).mean(axis=1)


def _generator(seed: int) -> Any:
    with needs("lab"):
        import numpy as np
    return np.random.default_rng(seed)
