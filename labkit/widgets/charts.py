"""Charts of a fleet's run. A chart is a function of a frame, which draws and returns the numbers that it shows.

There are frames of ticks (`run.frame()`: a row per interval) and of requests (`run.requests()`: a row per request).
Times are lab time, latencies are in seconds. A frame without rows gives an empty picture, never an error; any other
object, or a frame without the columns of the chart, raises LabError.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from labkit.core.errors import LabError
from labkit.widgets.drawing import lay_out, plot_style, set_head, short, show
from labkit.widgets.frames import expect_losses, expect_numbers, expect_requests, expect_ticks, expect_times
from labkit.widgets.hours import by_hour, times_of
from labkit.widgets.marks import COLOURS, marks_of
from labkit.widgets.over_time import (
    ANSWERED,
    LATENCIES,
    MOST_NAMES,
    STATES,
    draw_errors,
    draw_latency,
    draw_rate,
    draw_states,
    over_time,
    rates,
    write_text,
)
from labkit.widgets.overview import overview
from labkit.widgets.units import LEAST_COUNT, lab_time

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas
    from matplotlib.axes import Axes

SUMMARIES = ("sum", "mean", "median", "min", "max", "count", "std")  # of the rows of an hour
GIVEN_UP = "neither answered nor handled"
LOSSES = {"lost": "#d64545", "doubled": "#c9701a", "reordered": "#8e5bbf", GIVEN_UP: "#6b7785"}
FAILED = "#d64545"
MOST_BOUNDS = 14  # bars of a histogram up to which all are labelled
MOST_DAYS = 62  # rows of a heat map up to which all are labelled
MOST_ROWS = (12, 30)  # bounds of the rows that the height of a picture of devices allows for
MOST_BARS = 40  # devices of a chart of losses


# ---- over time


def latency_chart(frame: pandas.DataFrame, *, title: str = "Latency") -> pandas.DataFrame:
    """Draw percentiles of latency over lab time, from a frame of ticks; an interval without requests is a gap."""
    return _drawn(draw_latency, expect_ticks(frame, *LATENCIES), title)


def rate_chart(frame: pandas.DataFrame, *, title: str = "") -> pandas.DataFrame:
    """Draw requests per second of lab time, from a frame of ticks; per minute, hour or day if that is below 1."""

    def draw(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
        shown = draw_rate(axes, frame)
        axes.set_title(title or str(shown.columns[0]).capitalize())
        return shown

    return _drawn(draw, expect_ticks(frame, "requests"), title)


def errors_chart(frame: pandas.DataFrame, *, title: str = "Errors by kind") -> pandas.DataFrame:
    """Draw the number of failed requests per interval, by kind of error, from a frame of ticks."""
    return _drawn(draw_errors, expect_ticks(frame), title)


def states_chart(frame: pandas.DataFrame, *, title: str = "Devices by state") -> pandas.DataFrame:
    """Draw the number of devices in each state over lab time, from a frame of ticks."""
    return _drawn(draw_states, expect_ticks(frame, *STATES), title)


# ---- of requests


def histogram_chart(requests: pandas.DataFrame, *, title: str = "Latency") -> pandas.DataFrame:
    """Draw a histogram of latencies, from a frame of requests, without polls and requests that got no answer.

    A bar ends at 1, 2 or 5 times a power of ten.
    """

    def draw(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
        latencies = frame["latency"].dropna()
        if {"action", "status"} <= set(
            frame
        ):  # as in the run's own figures: the wait of a poll is no latency
            latencies = latencies[frame["status"].notna() & (frame["action"] != "poll")]
        shown = _histogram(latencies.astype("float64"))
        if shown.empty:
            write_text(axes, "nothing yet")
            return shown
        axes.bar(range(len(shown)), shown["requests"], width=0.96, color=ANSWERED)
        few = len(shown) <= MOST_BOUNDS
        whole = [n for n, each in enumerate(shown.index) if few or f"{float(each):e}"[0] in "01"]
        axes.set_xticks(whole, [str(shown.index[n]) for n in whole])
        axes.set_xlabel("seconds of lab time, up to")
        axes.set_ylabel("requests")
        axes.set_xlim(-0.6, max(len(shown), LEAST_COUNT) - 0.4)
        axes.set_ylim(0, max(axes.get_ylim()[1], LEAST_COUNT))
        axes.yaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
        axes.grid(visible=False, axis="x")
        return shown

    return _drawn(draw, expect_requests(requests, "latency"), title)


def raster_chart(requests: pandas.DataFrame, *, title: str = "Requests of each device") -> pandas.DataFrame:
    """Draw a row per device with a mark per request, from a frame of requests.

    Returns the number of requests of each device, and of failed ones.
    """

    def draw(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
        if frame.empty:
            write_text(axes, "nothing yet")
            return frame
        names = sorted(frame["identity"].unique())
        row = frame["identity"].map({name: number for number, name in enumerate(names, 1)})
        failed = (frame["status"].isna() | (frame["status"] >= 400)).to_numpy(dtype=bool)
        few = len(names) <= MOST_NAMES
        size = row_height(len(names)) * 0.9
        # If there are both kinds, the upper half of a row shows answered requests, the lower half failed ones.
        halves: tuple[object, ...] = (2, 3) if failed.any() and not failed.all() else ("|", "|")
        for label, colour, chosen, mark in zip(
            ("answered", "failed"), (ANSWERED, FAILED), (~failed, failed), halves, strict=True
        ):
            if chosen.any():
                length = size if mark == "|" else size / 2
                axes.plot(
                    *(frame["time"][chosen], row[chosen]),
                    marker=mark,
                    markersize=length,
                    linestyle="none",
                    color=colour,
                )
                axes.plot(
                    [], [], "|", markersize=9, color=colour, label=label
                )  # the legend's own, never tiny
        if few:
            axes.set_yticks(range(1, len(names) + 1), [short(each) for each in names])
        axes.set_ylabel("device" if few else "device, by name")
        axes.set_ylim(len(names) + 0.5, 0.5)
        axes.grid(visible=False, axis="y")
        over_time(axes, frame.set_index("time"), None, zero=False)
        counted = frame.assign(failed=failed).groupby("identity", sort=True)["failed"].agg(["size", "sum"])
        return counted.set_axis(["requests", "failed"], axis="columns").astype("int64")

    count = expect_requests(requests, "time", "identity", "status")["identity"].nunique()
    return _drawn(draw, requests, title, height=_height(count))


def _height(rows: int) -> float:
    """Return the height, in inches, of a picture with a row for each device."""
    return 0.22 * min(max(rows, MOST_ROWS[0]), MOST_ROWS[1]) + 0.75


def row_height(rows: int) -> float:
    """Return the height of a row, in points, of a picture with a row for each device."""
    return max(72 * (_height(rows) - 0.75) / max(rows, 1), 1.0)


def series_chart(frame: pandas.DataFrame, *, title: str, most: float | None = None) -> pandas.DataFrame:
    """Draw the columns of a frame over time as rows, one below the other and of one colour, filled up to the value.

    most: the value of a full row, by default the largest.
    """

    def draw(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
        if frame.empty:
            write_text(axes, "nothing yet")
            return frame
        full = most or float(frame.max().max()) or 1.0
        for number, name in enumerate(frame, 1):
            height = frame[name].astype("float64").clip(upper=full) / full * 0.86
            axes.fill_between(
                *(frame.index, number + 0.43, number + 0.43 - height),
                step="post",
                color=ANSWERED,
                linewidth=0,
            )
        if len(frame.columns) <= MOST_NAMES:
            axes.set_yticks(range(1, len(frame.columns) + 1), [short(str(each)) for each in frame])
            name = "series" if frame.columns.name is None else str(frame.columns.name)
            axes.set_ylabel("device" if name == "identity" else name)
        else:
            axes.set_ylabel("series, in the order of the columns")
        axes.set_ylim(len(frame.columns) + 0.5, 0.5)
        axes.grid(visible=False, axis="y")
        over_time(axes, frame, None, zero=False, ends=False)
        return frame

    expect_times(frame)
    return _drawn(draw, frame, title, height=_height(len(frame.columns)))


def hours_chart(
    frame: pandas.DataFrame, column: str = "requests", *, title: str = "", summary: str = ""
) -> pandas.DataFrame:
    """Draw a heat map, a row per day and a column per hour (UTC), from a frame of ticks or one with a column `time`.

    column: the values shown; summary: aggregation of the rows of an hour, by default the largest of latencies and
    lags, the mean of numbers of devices in a state, and the sum of other values.
    """
    largest = column in (*LATENCIES, "max", "lag", "latency")
    how = summary or ("max" if largest else "mean" if column in STATES else "sum")

    def draw(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
        from matplotlib.colors import LinearSegmentedColormap

        shown = by_hour(frame, column, how)
        if shown.empty or shown.isna().all(axis=None):
            write_text(axes, "nothing yet")
            return shown
        colours = LinearSegmentedColormap.from_list("labkit", ["#eef4fb", "#3b7dd8", "#16325c"])
        values = shown.to_numpy(dtype="float64")
        low, high = min(float(shown.min().min()), 0.0), float(shown.max().max())
        if low < 0:  # then the colours need not begin at 0
            image = axes.imshow(values, aspect="auto", cmap=colours)
        else:
            image = axes.imshow(values, aspect="auto", cmap=colours, vmin=0, vmax=high if high > 0 else 1)
        axes.set_xticks(range(0, 24, 3), [f"{hour:02}:00" for hour in range(0, 24, 3)])
        named = range(0, len(shown), -(-len(shown) // MOST_DAYS))
        axes.set_yticks(named, [shown.index[each] for each in named])
        axes.set_xticks([each - 0.5 for each in range(1, 24)], minor=True)
        axes.set_yticks([each - 0.5 for each in range(1, len(shown))], minor=True)
        axes.grid(visible=False)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="both", length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel(lab_time(frame.attrs.get("rate")), color="#52606d", fontsize="small")
        _marks_by_hour(axes, frame, list(shown.index))
        figure = axes.get_figure()
        assert figure is not None
        bar = figure.colorbar(image, ax=axes, pad=0.01, fraction=0.03, aspect=max(20, 2 * len(shown)))
        bar.outline.set_visible(False)
        bar.set_label(column)
        return shown

    if how not in SUMMARIES:
        raise LabError(f"summary: expected one of {', '.join(SUMMARIES)}, not {summary!r:.100}")
    expect_numbers(frame, column)
    days = len(frame) and times_of(frame).dt.floor("D").nunique()
    return _drawn(
        draw,
        frame,
        title or f"{column} by hour{'' if how == 'sum' else f', {how}'}",
        height=0.3 * min(max(days, 1), MOST_DAYS) + 1.1,
    )


def _marks_by_hour(axes: Axes, frame: pandas.DataFrame, days: list[str]) -> None:
    """Draw the marks of a frame within the cells of their hours."""
    labelled: set[str] = set()
    for mark in marks_of(frame):
        when = datetime.fromtimestamp(mark.time, UTC)
        day = f"{when:%a %d %b}"
        if day in days and mark.kind in COLOURS:
            at, row = when.hour + when.minute / 60 - 0.5, days.index(day)
            label = "_" if mark.kind in labelled else mark.kind
            labelled.add(mark.kind)
            axes.vlines(at, row - 0.5, row + 0.5, color=COLOURS[mark.kind], linewidth=1.5, label=label)


def _histogram(latencies: pandas.Series[float]) -> pandas.DataFrame:
    """Return counts between round bounds (0.001, 0.002, 0.005, 0.01 …), from the first to the last that is not 0."""
    import pandas

    bounds = [0.0, *(round(lead * 10.0**power, 6) for power in range(-6, 7) for lead in (1, 2, 5))]
    places = pandas.cut(
        latencies.clip(0.0, bounds[-1]), [-1.0, *bounds], labels=[f"{each:g}" for each in bounds]
    )
    counts = places.value_counts(sort=False)
    held = [n for n, count in enumerate(counts) if count]
    shown = counts.iloc[held[0] : held[-1] + 1] if held else counts.iloc[:0]
    if (
        len(held) > 1 and held[0] == 0
    ):  # there are many bounds between 0 and the next count: one empty bar shows the gap
        shown = counts.iloc[[0, *range(max(held[1] - 1, 1), held[-1] + 1)]]
    return pandas.DataFrame(
        {"requests": shown.to_numpy()}, index=pandas.Index(list(shown.index), name="up to (s)")
    )


# ---- of accounts


def losses_chart(
    losses: pandas.DataFrame, *, title: str = "Lost, duplicated or reordered messages"
) -> pandas.DataFrame:
    """Draw the lost, doubled and reordered messages of each device, from a table of accounts (`run.losses`).

    Messages without an answer that did not arrive are shown, too.
    """

    def draw(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
        from matplotlib.ticker import MaxNLocator

        if {"unanswered", "arrived"} <= set(frame):
            frame = frame.assign(**{GIVEN_UP: frame["unanswered"] - frame["arrived"]})
        known = [each for each in LOSSES if each in frame]
        shown = frame[known].groupby(frame.index.get_level_values(0)).sum()
        shown = shown[(shown != 0).any(axis=1)]
        if len(shown):
            if GIVEN_UP in shown and not shown[GIVEN_UP].any():
                shown = shown.drop(columns=GIVEN_UP)
            drawn = shown.loc[shown.sum(axis=1).nlargest(MOST_BARS).index.sort_values(), shown.any()]
            colours = [LOSSES[str(each)] for each in drawn]
            named = drawn.set_axis([short(str(each)) for each in drawn.index])
            named.plot(kind="barh", stacked=True, ax=axes, color=colours, legend=False, width=0.7)
            devices = frame.index.get_level_values(0).nunique()
            fewer = f" of {len(drawn)} devices that have most" if len(drawn) < len(shown) else ""
            none = f"; {devices - len(shown)} of {devices} devices have none" if len(shown) < devices else ""
            axes.set_xlabel(f"messages{fewer}{none}")
            axes.set_ylabel("device")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlim(0, max(1.04 * float(drawn.sum(axis=1).max()), LEAST_COUNT))
            axes.set_ylim(
                max(len(drawn), LEAST_COUNT) - 0.5, -0.5
            )  # keeps a single bar as thin as the bars of a full chart
            axes.grid(visible=False, axis="y")
        else:
            write_text(axes, "none")
        return shown

    return _drawn(
        draw,
        expect_losses(losses, *LOSSES),
        title,
        height=0.26 * min(max(len(losses), LEAST_COUNT), MOST_BARS) + 1.2,
    )


# ---- common to all charts


def _drawn(
    draw: Callable[[Axes, pandas.DataFrame], pandas.DataFrame],
    frame: pandas.DataFrame,
    title: str,
    height: float | None = None,
) -> pandas.DataFrame:
    """Draw on a new figure, show it, and return the frame shown."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    plot_style()
    width, usual = mpl.rcParams["figure.figsize"]
    figure = Figure(figsize=(width, height or usual), layout="constrained")
    axes = figure.subplots()
    shown = draw(axes, frame)
    lay_out(figure)
    set_head(axes, title or axes.get_title(loc="left"))
    show(figure, shown)
    return shown


__all__ = [
    "STATES",
    "errors_chart",
    "histogram_chart",
    "hours_chart",
    "latency_chart",
    "losses_chart",
    "overview",
    "raster_chart",
    "rate_chart",
    "rates",
    "series_chart",
    "states_chart",
]
