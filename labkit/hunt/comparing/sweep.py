"""`sweep`: plays of a story for each combination of parameters and each seed, as a frame with a row for each play."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from labkit.core.errors import LabError, unknown
from labkit.core.extras import needs
from labkit.core.handle import short_trace, warn
from labkit.core.progress import Progress
from labkit.core.words import counted
from labkit.hunt.comparing.bootstrap import LEVEL, expect_level, mean_interval
from labkit.hunt.plays.future import FaultSource, failure_of
from labkit.hunt.plays.levels import fault_source
from labkit.hunt.plays.play import play_unwarned
from labkit.hunt.story import Story
from labkit.hunt.workers.pool import ItemOutcome, plays_over

if TYPE_CHECKING:
    import pandas

Axes = dict[str, dict[object, object]]  # by name of a parameter: its values, by their labels
Place = tuple[tuple[object, ...], int]  # labels of a combination, and a seed
OWN = ("seed", "error")  # columns of every frame
DEFAULT_SEEDS = 20


class Measured(NamedTuple):
    """Outcome of one play. measures: by name; warnings: about misspelt calls of handlers, as of `Played`."""

    measures: dict[str, object]
    warnings: tuple[str, ...]


class Sweep:
    """Plays of a story over a grid of parameters. Made by `sweep`.

    name: of the story; parameters: names of those that were given; planned: number of plays, also of those that an
    interrupt has left out; level: source of the faults, as `play` takes it, None without faults.
    """

    def __init__(
        self,
        name: str,
        parameters: Sequence[str],
        frame: pandas.DataFrame,
        planned: int,
        level: FaultSource | None = None,
    ) -> None:
        self.name = name
        self.parameters = tuple(parameters)
        self.planned = planned
        self.level = level
        self._frame = frame

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each play: parameters, seed, measures of the story, its error or None."""
        return self._frame.copy()

    @property
    def varying(self) -> list[str]:
        """Names of the parameters that have several values here."""
        return [each for each in self.parameters if self._frame[each].nunique(dropna=False) > 1]

    @property
    def measures(self) -> list[str]:
        """Names of the measures that are numbers."""
        left = self._frame.drop(columns=[*self.parameters, *OWN])
        return [str(each) for each in left.select_dtypes(["number", "bool"]).columns]

    def select(self, **values: object) -> Sweep:
        """Return the plays with these values of parameters.

        values: by parameter, as they are in the frame. Raises LabError for an unknown parameter or value.
        """
        frame = self._frame
        for name, value in values.items():
            if name not in self.parameters:
                raise LabError(f"select: {unknown('parameter', name, self.parameters)}")
            known = list(dict.fromkeys(self._frame[name]))
            if value not in known:
                raise LabError(f"select: {name}: {unknown('value', value, map(str, known))}")
            frame = frame[frame[name] == value]
        return Sweep(self.name, self.parameters, frame.reset_index(drop=True), len(frame), self.level)

    def summary(self, measure: str | None = None, *, level: float = LEVEL) -> pandas.DataFrame:
        """Return the mean of a measure for each combination of varying parameters, with its interval.

        measure: name, the first one by default; level: of the bootstrap interval. Columns: mean, low, high, plays,
        errors; low and high are nan with fewer than six plays. Raises LabError for an unknown measure.
        """
        import pandas

        measure = self.measure(measure)
        expect_level(level)
        rows = {}
        names = self.varying
        grouped = self._frame.groupby(names, sort=False, dropna=False) if names else [((), self._frame)]
        for key, plays in grouped:
            values = plays[measure].dropna().astype(float).tolist()
            errors = int(plays["error"].notna().sum())
            rows[key] = {
                **mean_interval(values, level=level)._asdict(),
                "plays": len(plays),
                "errors": errors,
            }
        index: Any = [self.name]
        if names:
            index = pandas.MultiIndex.from_tuples(list(rows), names=names)
            if len(names) == 1:
                index = index.get_level_values(0)
        return pandas.DataFrame(list(rows.values()), index=index)

    def chart(
        self, measure: str | None = None, *, by: str | None = None, level: float = LEVEL
    ) -> pandas.DataFrame:
        """Draw the mean and the interval of a measure for each combination, and return the frame of `summary`.

        measure, level: as of `summary`; by: varying parameter whose values have colours, the first one by default.
        Raises LabError for an unknown measure or parameter.
        """
        from labkit.hunt.comparing.charts import interval_chart

        measure = self.measure(measure)
        if by is not None and by not in self.varying:
            raise LabError(f"by: {unknown('parameter with several values', by, self.varying)}")
        summary = self.summary(measure, level=level)
        colours = by or next(iter(self.varying), "")
        title = (
            f"{self.name}: mean of {measure!r}{' by ' if self.varying else ''}{' and '.join(self.varying)}"
        )
        return interval_chart(
            summary, by=colours, title=title, x=f"{measure} of a play: mean and {level:.0%} interval"
        )

    def measure(self, name: str | None) -> str:
        """Return the name of a measure, the first one for None. Raises LabError if there is no number of that name."""
        known = self.measures
        if not known:
            raise LabError(
                f"{self.name}: the story returns no numbers; expected a number, or a dict of numbers by name"
            )
        if name is None:
            return known[0]
        if name not in known:
            if name in self._frame.drop(columns=[*self.parameters, *OWN]):
                raise LabError(f"{self.name}: measure {name!r}: expected one of numbers, such as {known[0]}")
            raise LabError(f"{self.name}: {unknown('measure', name, known)}")
        return str(name)

    def __len__(self) -> int:
        return len(self._frame)

    def __repr__(self) -> str:
        errors = int(self._frame["error"].notna().sum())
        of = f"{len(self)} of " if len(self) < self.planned else ""
        failed = f", {errors} with an error" if errors else ""
        return f"<sweep of {self.name}: {of}{counted(self.planned if of else len(self), 'play')}{failed}>"


@short_trace
def sweep(
    story: Story,
    seeds: int | Iterable[int] = DEFAULT_SEEDS,
    *,
    level: str | FaultSource | None = None,
    workers: int | None = None,
    within: float | None = None,
    dask: Any = None,
    check: bool = True,
    **parameters: Any,
) -> Sweep:
    """Play a story with each combination of parameters and each seed, in several processes, and return the plays.

    story: made by `@story`; it returns a dict of measures, or one number, the measure `result`. seeds: their number,
    from 0, or the seeds; every combination is played with the same ones. parameters: keyword-only arguments of the
    story: a list, tuple or range has the values to try, a dict has them by the label to show, all else is one value.
    level: of the faults that are drawn, `calm`, `rough` or `wild`, or a `Menu`; none without it. Their places are those
    of the first combination, and a seed has the same faults in each combination: a difference is due to parameters.
    workers, within, dask: as of `plays_over`: number of processes, real seconds of a play, address of a dask cluster.
    check: whether to raise the first error of a play; otherwise it is in the frame, as the errors of plays that ran too
    long always are. A play that breaks a promise has its measures there, too. Ctrl-C ends the sweep with the plays so
    far. Warns of misspelt calls of handlers. `play(story, seed, parameters=…, level=swept.level)` repeats one play.
    Raises LabError for an unknown parameter, a text where a parameter is a number, no seeds, and measures of other
    names than those of the first play.
    """
    if not isinstance(story, Story):
        raise LabError(f"sweep: expected a function with @story, not {story!r:.100}")
    with needs("tables"):
        import pandas  # noqa: F401  before the plays, whose work would be lost
    if level is not None and "level" in story.parameters:
        raise LabError(f"sweep: level: {story.name} has a parameter of this name, too; rename that")
    axes = {name: _values(name, given) for name, given in parameters.items()}
    for name, values in axes.items():
        for each in values.values():
            story.with_defaults({name: each})
    places: list[Place] = list(product(product(*axes.values()), _seeds(seeds)))
    first = _parameters(axes, places[0])
    source = None if level is None else fault_source(level, story, first)
    plays = plays_over(
        workers, partial(measured, story, axes, source, check), places, within=within, dask=dask
    )
    found: dict[Place, dict[str, object]] = {}
    mistakes: Counter[str] = Counter()
    with (
        closing(cast(Any, plays)),
        Progress(f"sweep of {story.name}", len(places), "play") as bar,
    ):
        try:
            for each in plays:
                found[each.item] = _row(each, check=check)
                mistakes.update(() if each.result is None else each.result.warnings)
                bar.update()
        except KeyboardInterrupt:
            warn(
                f"sweep interrupted: {len(found)} of {counted(len(places), 'play')}, whose results are returned"
            )
    for text, count in mistakes.items():
        warn(f"{text} (in {count} of {counted(len(found), 'play')})")
    rows = [
        {**dict(zip(axes, place[0], strict=True)), "seed": place[1], **found[place]}
        for place in places
        if place in found
    ]
    return Sweep(story.name, list(axes), _framed(story, list(axes), rows), len(places), source)


def measured(story: Story, axes: Axes, level: FaultSource | None, check: bool, place: Place) -> Measured:
    """Play a story once, and return its measures with the promise that it broke. Runs in a worker process.

    check: whether to raise that promise's error.
    """
    _, seed = place
    played = play_unwarned(story, seed, parameters=_parameters(axes, place), level=level, check=check)
    if played.error is not None:
        raise played.error
    broken, result = failure_of(played), played.result
    measures = dict(result) if isinstance(result, Mapping) else {"result": result}
    for name, value in measures.items():
        if not isinstance(name, str) or name in (*OWN, *axes):
            raise LabError(
                f"{story.name}: measure {name!r}: expected a name other than {', '.join([*OWN, *axes])}"
            )
        if not isinstance(value, int | float | str) and value is not None:
            raise LabError(
                f"{story.name}: measure {name!r}: expected a number, a text or None, not {value!r:.100}"
            )
    return Measured({**measures, "error": None if broken is None else str(broken)}, played.warnings)


def _parameters(axes: Axes, place: Place) -> dict[str, object]:
    """Return the parameters of a combination."""
    return {name: axes[name][label] for name, label in zip(axes, place[0], strict=True)}


def _values(name: str, given: object) -> dict[object, object]:
    """Return the values of a parameter by the labels of the frame."""
    if isinstance(given, Mapping):
        values = dict(given)
    elif isinstance(given, list | tuple | range):
        values = {_label(each): each for each in given}
        if len(values) < len(given):
            raise LabError(f"{name}: two values have the same label; expected a dict of values by labels")
    else:
        values = {_label(given): given}
    if not values:
        raise LabError(f"{name}: expected at least one value")
    return values


def _label(value: object) -> object:
    """Return a value as the frame shows it: plain ones as they are, a class or function by its name."""
    if value is None or isinstance(value, str | int | float):
        return value
    return getattr(value, "__name__", None) or f"{value!r:.60}"


def _seeds(given: object) -> list[int]:
    if type(given) is int:
        given = range(given)
    seeds = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else []
    if not seeds or any(type(each) is not int for each in seeds) or len(set(seeds)) < len(seeds):
        raise LabError(
            f"seeds: expected a number of seeds from 1, or different whole numbers, not {given!r:.100}"
        )
    return seeds


def _row(outcome: ItemOutcome[Place, Measured], *, check: bool) -> dict[str, object]:
    error = outcome.error
    if error is None:
        assert outcome.result is not None
        return outcome.result.measures
    if check and not outcome.late:
        raise error
    return {"error": f"{type(error).__name__}: {error}"}


def _framed(story: Story, axes: Sequence[str], rows: Sequence[dict[str, object]]) -> pandas.DataFrame:
    """Return rows as a frame: parameters, seed, measures, error."""
    import pandas

    played = [each for each in rows if each["error"] is None or len(each) > len(axes) + len(OWN)]
    for each in played:
        if each.keys() != played[0].keys():
            differing = ", ".join(sorted(map(str, each.keys() ^ played[0].keys())))
            raise LabError(
                f"{story.name}: plays have different measures: {differing}; expected the same in each"
            )
    measures = [name for name in (played[0] if played else {}) if name not in (*OWN, *axes)]
    frame = pandas.DataFrame(list(rows), columns=[*axes, "seed", *measures, "error"])
    frame["error"] = pandas.Series(
        [each["error"] for each in rows], dtype=object
    )  # of text, None would become nan
    return frame
