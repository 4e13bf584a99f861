"""Measurements of a fleet's run: requests, errors by kind, and latencies as a histogram that merges exactly.

A percentile of several intervals is taken from their merged histogram; percentiles are never averaged.
"""

from __future__ import annotations

import json
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from labkit.core.extras import needs

if TYPE_CHECKING:
    from pandas import DataFrame

STATES = ("waiting", "running", "sleeping", "polling", "paused", "failed", "ended")
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0}

HIGHEST = 366 * 86_400 * 1_000_000  # µs; longer durations are counted as this
# for three digits: values below 2^11 are exact, above there are 2^10 buckets per power of two
EXACT_BITS = 11
EXACT = 1 << EXACT_BITS


class Latency:
    """HDR histogram of durations from 1 µs to a year, with a precision of three digits.

    Only non-empty buckets are stored, so that thousands of intervals cost little.
    """

    __slots__ = ("_counts", "count")

    def __init__(self) -> None:
        self.count = 0
        self._counts: dict[int, int] = {}  # lowest µs of a bucket → count

    @classmethod
    def of(cls, durations: Iterable[float]) -> Self:
        """Return a histogram of durations in seconds."""
        made = cls()
        for duration in durations:
            made.add(duration)
        return made

    def add(self, seconds: float) -> None:
        """Count a duration of `seconds`; one below 0 counts as 0."""
        micros = round(seconds * 1_000_000)
        if micros >= EXACT:
            if micros > HIGHEST:
                micros = HIGHEST
            shift = micros.bit_length() - EXACT_BITS
            micros = micros >> shift << shift
        elif micros < 0:
            micros = 0
        counts = self._counts
        counts[micros] = counts.get(micros, 0) + 1
        self.count += 1

    def merge(self, other: Latency) -> None:
        """Add the counts of `other`, another histogram, without loss."""
        for micros, count in other._counts.items():
            self._counts[micros] = self._counts.get(micros, 0) + count
        self.count += other.count

    @classmethod
    def merged(cls, parts: Iterable[Latency]) -> Self:
        """Return the sum of several histograms, the `parts`."""
        made = cls()
        for part in parts:
            made.merge(part)
        return made

    def percentile(self, percent: float) -> float:
        """Return a percentile in seconds, NaN if the histogram is empty. percent: 0 to 100."""
        return self.percentiles([percent])[0]

    def percentiles(self, percents: Sequence[float]) -> list[float]:
        """Return several percentiles, as `percentile` does. percents: in ascending order."""
        found: list[float] = []
        seen, buckets = 0, iter(sorted(self._counts.items()))
        micros = 0
        for percent in percents:
            rank = max(int(min(percent, 100.0) * self.count / 100 + 0.5), 1)
            while seen < rank:
                micros, count = next(buckets, (-1, rank))
                seen += count
            found.append(_most(micros) / 1_000_000 if micros >= 0 else float("nan"))
        return found

    @property
    def max(self) -> float:
        """The longest duration in seconds; NaN if the histogram is empty."""
        return self.percentile(100)

    def buckets(self) -> Iterator[tuple[float, float, int]]:
        """Yield the non-empty buckets in ascending order: lower and upper bound in seconds, and count."""
        for micros, count in sorted(self._counts.items()):
            yield micros / 1_000_000, (_most(micros) + 1) / 1_000_000, count

    def pairs(self) -> list[tuple[int, int]]:
        """Return the non-empty buckets in ascending order, as lower bound in microseconds and count."""
        return sorted(self._counts.items())

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[int, int]]) -> Self:
        """Return the histogram of the `pairs` that another one returned."""
        made = cls()
        made._counts = dict(pairs)
        made.count = sum(made._counts.values())
        return made

    def encode(self) -> bytes:
        """Return the histogram as compressed JSON, a few hundred bytes to some KiB: input of `decode`."""
        return zlib.compress(json.dumps(self.pairs()).encode())

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Return the histogram of an encoded one. Raises ValueError or zlib.error for what `encode` did not return."""
        return cls.of_pairs(json.loads(zlib.decompress(encoded)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Latency) and self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]  # it is mutable

    def __repr__(self) -> str:
        if not self.count:
            return "<latency: nothing counted>"
        p50, p99, most = self.percentiles([50, 99, 100])
        return f"<latency of {self.count}: p50 {p50:.6g} s, p99 {p99:.6g} s, max {most:.6g} s>"


def _most(micros: int) -> int:
    """Return the highest value of the bucket that begins at `micros`."""
    return micros + (1 << max(micros.bit_length() - EXACT_BITS, 0)) - 1


@dataclass(frozen=True, slots=True)
class Tick:
    """Measurements of one interval of a run.

    time: lab time at its end, Unix seconds; devices: number by state (STATES); requests: number that finished in the
    interval, answered or not; errors: number by kind ("503", "no answer", "refused", "cut", "timeout"); latency: lab
    time from the intended time to the answer; lag: lab seconds from an event to its handler, if known.
    """

    time: float
    devices: Mapping[str, int]
    requests: int
    errors: Mapping[str, int]
    latency: Latency
    lag: float | None = None

    def encode(self) -> dict[str, Any]:
        """Return the tick as plain data for another process: input of `decode`."""
        return {
            "time": self.time,
            "devices": dict(self.devices),
            "requests": self.requests,
            "errors": dict(self.errors),
            "latency": self.latency.encode(),
            "lag": self.lag,
        }

    @classmethod
    def decode(cls, data: Mapping[str, Any]) -> Self:
        """Return the tick of plain data."""
        return cls(**{**data, "latency": Latency.decode(data["latency"])})

    @classmethod
    def merged(cls, time: float, ticks: Sequence[Tick]) -> Self:
        """Return one tick for the `ticks` of concurrent processes: the sum of their counts, and the longest lag."""
        lags = [tick.lag for tick in ticks if tick.lag is not None]
        return cls(
            time,
            _sum(tick.devices for tick in ticks),
            sum(tick.requests for tick in ticks),
            _sum(tick.errors for tick in ticks),
            Latency.merged(tick.latency for tick in ticks),
            max(lags, default=None),
        )


@dataclass(slots=True)
class Measures:
    """Counts of the current interval."""

    requests: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    latency: Latency = field(default_factory=Latency)

    def answered(self, status: int, seconds: float) -> None:
        """Count an answer and its latency; a status from 400 is an error too."""
        self.requests += 1
        self.latency.add(seconds)
        if status >= 400:
            self.errors[str(status)] += 1

    def unanswered(self, kind: str) -> None:
        """Count a request that got no answer: "no answer", "refused", "cut" or "timeout"."""
        self.requests += 1
        self.errors[kind] += 1

    def merge(self, other: Measures) -> None:
        """Add the counts of another interval."""
        self.requests += other.requests
        self.errors.update(other.errors)
        self.latency.merge(other.latency)

    def tick(self, time: float, devices: Mapping[str, int], lag: float | None = None) -> Tick:
        """Return the interval that ends at `time`, and start the next one from 0."""
        tick = Tick(time, dict(devices), self.requests, dict(self.errors), self.latency, lag)
        self.requests, self.errors, self.latency = 0, Counter(), Latency()
        return tick


def frame(ticks: Sequence[Tick], began: float | None = None, every: float | None = None) -> DataFrame:
    """Return a table with a row per tick, indexed by lab time (UTC) of its end.

    began, every: start of the first tick and maximal length of a tick, for charts (`attrs` of the frame). Columns:
    requests that finished in it, errors (those refused or without an answer), p50, p90, p99, max (seconds of lab
    time, NaN without answers), a column per state, `error <kind>` per kind that occurred, and lag if one is known.
    """
    with needs("tables"):
        import pandas as pd

    columns: dict[str, list[Any]] = {
        "requests": [tick.requests for tick in ticks],
        "errors": [sum(tick.errors.values()) for tick in ticks],
    }
    found = [tick.latency.percentiles([*PERCENTILES.values(), 100.0]) for tick in ticks]
    for number, name in enumerate([*PERCENTILES, "max"]):
        columns[name] = [seconds[number] for seconds in found]
    for state in STATES:
        columns[state] = [tick.devices.get(state, 0) for tick in ticks]
    for kind in sorted({kind for tick in ticks for kind in tick.errors}):
        columns[f"error {kind}"] = [tick.errors.get(kind, 0) for tick in ticks]
    if any(tick.lag is not None for tick in ticks):
        columns["lag"] = [float("nan") if tick.lag is None else tick.lag for tick in ticks]
    micros = [round(tick.time * 1_000_000) for tick in ticks]
    times = pd.DatetimeIndex(pd.to_datetime(micros, unit="us", utc=True), name="time")
    made = pd.DataFrame(columns, index=times.as_unit("us"))
    made.attrs.update(
        {name: value for name, value in (("began", began), ("every", every)) if value is not None}
    )
    return made


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


@dataclass(slots=True)
class Timings:
    """Real durations of a run in seconds, which a seed does not reproduce. latency: of all answers except polls."""

    began: float = field(default_factory=time.perf_counter)
    cpu_began: float = field(default_factory=time.process_time)
    real: float = 0.0
    cpu: float = 0.0
    latency: Latency = field(default_factory=Latency)

    def so_far(self) -> tuple[float, float]:
        """Return the real time and the CPU time of the process since the run began."""
        if self.real:
            return self.real, self.cpu
        return time.perf_counter() - self.began, time.process_time() - self.cpu_began

    def figures(self, requests: int) -> dict[str, float]:
        """Return real and CPU seconds, requests per real second, and latency percentiles (NaN without answers)."""
        real, cpu = self.so_far()
        latencies = self.latency.percentiles([*PERCENTILES.values(), 100.0])
        return {
            "real": real,
            "cpu": cpu,
            "requests per second": requests / real if real else 0.0,
            **dict(zip([*PERCENTILES, "max"], latencies, strict=True)),
        }

    def end(self) -> None:
        """Stop measuring real and CPU time."""
        self.real, self.cpu = self.so_far()
