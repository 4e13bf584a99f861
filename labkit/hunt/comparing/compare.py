"""`compare`: two runs of fleets, or two sets of plays, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError, unknown
from labkit.core.extras import needs
from labkit.core.handle import short_trace
from labkit.hunt.comparing.bootstrap import LEVEL, SEED, difference_interval, expect_level
from labkit.hunt.comparing.charts import distribution_chart
from labkit.hunt.comparing.sweep import OWN, Sweep
from labkit.lab.run import Run

if TYPE_CHECKING:
    import pandas

MEASURE = "value"  # name of the measure of plain numbers


class Comparison:
    """Two runs or two sets of plays, side by side. Made by `compare`.

    names: of the two; paired: whether their rows belong together; is_of_runs: whether it compares two runs of fleets.
    """

    def __init__(
        self,
        frames: tuple[pandas.DataFrame, pandas.DataFrame],
        names: tuple[str, str],
        *,
        paired: bool,
        level: float,
        seed: int,
        totals: pandas.DataFrame | None = None,
    ) -> None:
        self.names = names
        self.paired = paired
        self.is_of_runs = totals is not None
        self._frames = frames
        self._level = level
        self._seed = seed
        self._totals = totals

    @property
    def measures(self) -> list[str]:
        """Names of the measures that both have."""
        a, b = (each.select_dtypes(["number", "bool"]).columns for each in self._frames)
        return [str(each) for each in a if each in b]

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each measure.

        Columns: the value of both, named as they are, and the difference, of the second less the first. Of runs the
        values are totals. Of plays they are means, and there are low and high, the bounds of the bootstrap interval of
        the difference, and `more than chance`: whether 0 is not between them. With fewer than six plays, low and high
        are nan, and nothing is more than chance.
        """
        import pandas

        if self._totals is not None:
            return self._totals.assign(difference=self._totals[self.names[1]] - self._totals[self.names[0]])
        rows = {}
        for measure in self.measures:
            a, b = self._samples(measure)
            found = difference_interval(a, b, paired=self.paired, level=self._level, seed=self._seed)
            means = (sum(sample) / len(sample) if sample else float("nan") for sample in (a, b))
            rows[measure] = {
                **dict(zip(self.names, means, strict=True)),
                "difference": found.mean,
                "low": found.low,
                "high": found.high,
                "more than chance": found.is_more_than_chance,
            }
        return pandas.DataFrame.from_dict(rows, orient="index")

    def side_by_side(self) -> pandas.DataFrame:
        """Return a DataFrame with two columns for each measure: of runs a row for each interval, else for each play."""
        import pandas

        columns = {
            (measure, name): frame[measure]
            for measure in self.measures
            for name, frame in zip(self.names, self._frames, strict=True)
        }
        return pandas.DataFrame(columns)

    def chart(self, measure: str | None = None) -> pandas.DataFrame:
        """Draw the distributions of a measure, and return their quartiles.

        measure: name, the first one by default. Raises LabError for an unknown measure.
        """
        known = self.measures
        if measure is None and known:
            measure = known[0]
        if measure not in known:
            raise LabError(f"compare: {unknown('measure', measure, known)}")
        samples = dict(zip(self.names, self._samples(measure, whole=True), strict=True))
        return distribution_chart(samples, title=f"Distribution of {measure}", x=measure)

    def __repr__(self) -> str:
        pairs = ", in pairs" if self.paired and not self.is_of_runs else ""
        return f"{self.names[0]} and {self.names[1]}{pairs}:\n{self.frame().to_string(float_format=_short)}"

    def _repr_html_(self) -> str:
        html: str = self.frame().to_html(float_format=_short)
        return html

    def _samples(self, measure: str, *, whole: bool = False) -> tuple[list[float], list[float]]:
        """Return the values of both without missing ones, and of pairs without half pairs. whole: keep half pairs."""
        a, b = (each[measure].astype(float) for each in self._frames)
        if self.paired and not whole:
            there = a.notna().to_numpy() & b.notna().to_numpy()
            a, b = a[there], b[there]
        return a.dropna().tolist(), b.dropna().tolist()


def _short(value: float) -> str:
    """Return a number with four digits, or more before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


@short_trace
def compare(
    a: Any,
    b: Any,
    *,
    names: Sequence[str] = ("a", "b"),
    level: float = LEVEL,
    seed: int = SEED,
) -> Comparison:
    """Compare two runs of fleets, or two sets of plays, and return them side by side.

    a, b: two runs; or two sweeps (`swept.select(policy="fixed")`), frames with a row for each play, or lists of
    numbers. Plays of the same seeds are compared in pairs, since much of their chance is the same. names: to show;
    level: of the intervals of differences; seed: of their resampling, so that they are the same each time.
    Raises LabError for anything else, and if the two have no measure in common.
    """
    first, second = (str(each) for each in _two(names))
    if first == second:
        raise LabError(f"names: expected two different names, not {first!r} twice")
    expect_level(level)
    with needs("tables"):
        import pandas
    if isinstance(a, Run) and isinstance(b, Run):
        totals = pandas.DataFrame({first: _totals(a), second: _totals(b)})
        frames = (a.frame(), b.frame())
        return Comparison(frames, (first, second), paired=True, level=level, seed=seed, totals=totals)
    if isinstance(a, Run) or isinstance(b, Run):
        raise LabError("compare: one is a run, the other is none: expected two runs, or two sets of plays")
    before, after = _plays(a), _plays(b)
    unique = before.index.is_unique and after.index.is_unique
    paired = unique and set(before.index) == set(after.index)
    if paired:
        after = after.loc[before.index]
    found = Comparison((before, after), (first, second), paired=paired, level=level, seed=seed)
    if not found.measures:
        raise LabError("compare: the two have no measure in common that is a number")
    return found


def _two(names: Any) -> Sequence[str]:
    if isinstance(names, str) or len(names) != 2:
        raise LabError(f"names: expected two names, not {names!r}")
    given: Sequence[str] = names
    return given


def _plays(given: Any) -> pandas.DataFrame:
    """Return a frame of measures with a row for each play, with an index by which plays can be paired."""
    import pandas

    if isinstance(given, Sweep):
        frame = given.frame()
        measures = frame.drop(columns=[*given.parameters, *OWN])
        return measures.set_index(pandas.MultiIndex.from_frame(frame[[*given.varying, "seed"]]))
    if isinstance(given, pandas.DataFrame):
        if "seed" in given.columns:
            return given.set_index("seed")
        return given.set_axis(pandas.Index([(id(given), each) for each in range(len(given))]))
    if isinstance(given, pandas.Series):
        given = given.tolist()
    if not isinstance(given, list | tuple) or not all(isinstance(each, int | float) for each in given):
        raise LabError(f"compare: expected runs, sweeps, frames or lists of numbers, not {given!r:.100}")
    frame = pandas.DataFrame({MEASURE: [*map(float, given)]})
    return frame.set_axis(pandas.Index([(id(given), each) for each in range(len(frame))]))


def _totals(run: Run) -> pandas.Series[float]:
    """Return the totals of a run: requests, errors, devices that failed, and what became of counted messages."""
    import pandas

    frame = run.frame()
    counted = {
        "requests": frame["requests"].sum(),
        "errors": frame["errors"].sum(),
        "failed": len(run.failed),
    }
    latency = {f"p{share}": run.latency.percentile(share) for share in (50, 99)}
    return pandas.Series({**counted, **latency, **(run.totals or {})}, dtype=float)
