"""Charts of a fleet's run, each a function of a frame: it draws, and returns the numbers that it shows.

Two frames there are: of ticks (`run.frame()`: a row an interval) and of requests (`run.requests()`: a row a request).
Times are lab time, latencies are in seconds. A frame without rows gives an empty picture, never an error; what is no
such frame, or lacks what a chart shows, is a LabError.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from labkit.widgets.drawing import apart, headed, plot_style, png, round_times, short, show
from labkit.widgets.frames import of_losses, of_requests, of_ticks, with_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    import pandas
    from matplotlib.axes import Axes

STATES = {
    "running": "#3b7dd8",
    "sleeping": "#a9c8ef",
    "polling": "#8e5bbf",
    "paused": "#e08a2e",
    "failed": "#d64545",
    "ended": "#2e9e6b",
    "waiting": "#d5dae0",
}
LATENCIES = {"p50": "#2e9e6b", "p90": "#e08a2e", "p99": "#d64545"}
ERRORS = ("#d64545", "#e08a2e", "#8e5bbf", "#6b7785", "#b8860b", "#c2587a")
LOSSES = {"lost": "#d64545", "doubled": "#e08a2e", "reordered": "#8e5bbf"}
ANSWERED = "#3b7dd8"
FAILED = "#d64545"
HOUR = 3600
MOST_NAMES = 24  # rows of a raster that are named one by one
MOST_BOUNDS = 14  # bars of a histogram that are named one by one
INSTANT = timedelta(seconds=2)  # how wide a bar is where there is one row alone


# ---- over time


def latency_chart(frame: pandas.DataFrame, *, title: str = "Latency") -> pandas.DataFrame:
    """Percentiles of latency over lab time, from a frame of ticks; an interval without requests is a gap."""
    return _drawn(draw_latency, of_ticks(frame, *LATENCIES), title)


def rate_chart(frame: pandas.DataFrame, *, title: str = "Requests per second") -> pandas.DataFrame:
    """Answers per second of lab time, from a frame of ticks."""
    return _drawn(draw_rate, of_ticks(frame, "requests"), title)


def errors_chart(frame: pandas.DataFrame, *, title: str = "Errors by kind") -> pandas.DataFrame:
    """How many requests went wrong in each interval, by kind, from a frame of ticks."""
    return _drawn(draw_errors, of_ticks(frame), title)


def states_chart(frame: pandas.DataFrame, *, title: str = "Devices by state") -> pandas.DataFrame:
    """How many devices run, sleep, poll, wait, have failed or have ended, from a frame of ticks."""
    return _drawn(draw_states, of_ticks(frame, *STATES), title)


def overview(frame: pandas.DataFrame, title: str = "") -> bytes:
    """The four pictures of a run on one PNG: devices, requests, latency, errors; of a frame of ticks."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    plot_style()
    with mpl.rc_context({"axes.titlesize": 10, "legend.fontsize": 8, "font.size": 8.5}):
        figure = Figure(figsize=(10, 5), layout=ConstrainedLayoutEngine(hspace=0.08, wspace=0.05))
        places = figure.subplots(2, 2).flat
        drawings = (draw_states, draw_rate, draw_latency, draw_errors)
        names = ("Devices by state", "Requests per second", "Latency", "Errors by kind")
        for axes, draw, name in zip(places, drawings, names, strict=True):
            draw(axes, frame)
            headed(axes, name, below=True)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10, color="#52606d")
        return png(figure)


def draw_latency(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
    shown = frame[[each for each in LATENCIES if each in frame]]
    factor, unit = _unit(float(shown.max().max()) if len(shown) else 0.0)
    for name in shown if len(shown) else ():
        axes.plot(
            frame.index,
            shown[name] * factor,
            label=name,
            color=LATENCIES[str(name)],
            marker="." if shown[name].count() < MOST_NAMES else None,
        )
    if len(shown):
        axes.set_ylabel(unit)
    _over_time(axes, frame)
    return shown


def draw_rate(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
    shown = rates(frame)
    if len(shown) > 1:
        axes.plot(shown.index, shown["requests per second"], color=ANSWERED, drawstyle="steps-pre")
        axes.fill_between(shown.index, shown["requests per second"], color=ANSWERED, step="pre", alpha=0.15)
    elif len(shown):
        _said(axes, "no rate of one interval alone")
    _over_time(axes, frame)
    return shown


def draw_errors(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
    kinds = [str(each) for each in frame if str(each).startswith("error ")]
    shown = frame[kinds].rename(columns={each: each.removeprefix("error ") for each in kinds})
    if kinds and len(shown):
        _stacked(axes, shown, [ERRORS[n % len(ERRORS)] for n in range(len(kinds))], step="pre")
    elif len(frame):
        _said(axes, "none")
    _over_time(axes, frame)
    return shown


def draw_states(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
    known = [each for each in STATES if each in frame and frame[each].any()]
    shown = frame[known]
    if known and len(shown):
        _stacked(axes, shown, [STATES[each] for each in known])
    _over_time(axes, frame)
    return shown


def _stacked(
    axes: Axes, shown: pandas.DataFrame, colours: Sequence[str], step: Literal["pre"] | None = None
) -> None:
    """Areas on top of each other; of one row, which has no area, bars."""
    if len(shown) > 1:
        columns, labels = [shown[each] for each in shown], [str(each) for each in shown]
        axes.stackplot(shown.index, columns, labels=labels, colors=list(colours), step=step)
        return
    bottom = 0.0
    for name, colour in zip(shown, colours, strict=True):
        height = float(shown[name].iloc[0])
        axes.bar(shown.index, height, INSTANT, bottom, label=str(name), color=colour)  # type: ignore[arg-type]
        bottom += height


def rates(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Answers per second of each interval, from a frame of ticks.

    The first, whose beginning no tick tells, counts as being as long as the second; a last one that was cut short by
    the end of the run goes with the one before.
    """
    requests = frame["requests"].astype("float64")
    seconds = frame.index.to_series().diff().dt.total_seconds().bfill()
    rate = requests / seconds.where(seconds > 0)
    if len(frame) > 2 and seconds.iloc[-1] < seconds.median() / 2:
        rate.iloc[-2:] = requests.iloc[-2:].sum() / seconds.iloc[-2:].sum()
    shown: pandas.DataFrame = rate.to_frame("requests per second")
    return shown


# ---- of requests


def histogram_chart(requests: pandas.DataFrame, *, title: str = "Latency") -> pandas.DataFrame:
    """How many requests took how long, from a frame of requests; each bar ends at 1, 2 or 5 of a power of ten."""

    def draw(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
        shown = _histogram(frame["latency"].dropna().astype("float64"))
        if shown.empty:
            _said(axes, "nothing yet")
            return shown
        axes.bar(range(len(shown)), shown["requests"], width=0.96, color=ANSWERED)
        few = len(shown) <= MOST_BOUNDS
        whole = [n for n, each in enumerate(shown.index) if few or f"{float(each):e}"[0] in "01"]
        axes.set_xticks(whole, [str(shown.index[n]) for n in whole])
        axes.set_xlabel("seconds, up to")
        axes.set_ylabel("requests")
        axes.grid(visible=False, axis="x")
        return shown

    return _drawn(draw, of_requests(requests, "latency"), title)


def raster_chart(requests: pandas.DataFrame, *, title: str = "Requests of each device") -> pandas.DataFrame:
    """A row a device, a mark a request, from a frame of requests; returns how many each made, and how many failed."""

    def draw(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
        if frame.empty:
            _said(axes, "nothing yet")
            return frame
        names = sorted(frame["identity"].unique())
        row = frame["identity"].map({name: number for number, name in enumerate(names, 1)})
        failed = (frame["status"].isna() | (frame["status"] >= 400)).to_numpy(dtype=bool)
        few = len(names) <= MOST_NAMES
        for label, colour, chosen in (("answered", ANSWERED, ~failed), ("failed", FAILED, failed)):
            if chosen.any():
                size = 9 if few else 3
                at, mark = frame["time"][chosen], "|"
                axes.plot(at, row[chosen], mark, markersize=size, color=colour, label=label)
        if few:
            axes.set_yticks(range(1, len(names) + 1), [short(each) for each in names])
        else:
            axes.set_ylabel("device, by name")
        axes.set_ylim(len(names) + 0.5, 0.5)
        axes.grid(visible=False, axis="y")
        _over_time(axes, frame.set_index("time"), zero=False)
        counted = frame.assign(failed=failed).groupby("identity", sort=True)["failed"].agg(["size", "sum"])
        return counted.set_axis(["requests", "failed"], axis="columns").astype("int64")

    count = of_requests(requests, "time", "identity", "status")["identity"].nunique()
    return _drawn(draw, requests, title, height=0.22 * min(max(count, 12), 30) + 0.6)


def hours_chart(
    frame: pandas.DataFrame, column: str = "requests", *, title: str = "", summary: str = ""
) -> pandas.DataFrame:
    """A heat map: a row a day, a column an hour (UTC), from a frame of ticks, or a column `time` of any frame.

    column: what is shown; summary: how the rows of an hour become one: `sum`, unless the column is a percentile, the
    lag or `max`, of which the largest counts.
    """
    largest = column in (*LATENCIES, "max", "lag")
    how = summary or ("max" if largest else "sum")

    def draw(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
        from matplotlib.colors import LinearSegmentedColormap

        shown = _hours(frame, column, how)
        if shown.empty:
            _said(axes, "nothing yet")
            return shown
        colours = LinearSegmentedColormap.from_list("labkit", ["#eef4fb", "#3b7dd8", "#16325c"])
        image = axes.imshow(shown.to_numpy(dtype="float64"), aspect="auto", cmap=colours, vmin=0)
        axes.set_xticks(range(0, 24, 3), [f"{hour:02}:00" for hour in range(0, 24, 3)])
        axes.set_yticks(range(len(shown)), list(shown.index))
        axes.set_xticks([each - 0.5 for each in range(1, 24)], minor=True)
        axes.set_yticks([each - 0.5 for each in range(1, len(shown))], minor=True)
        axes.grid(visible=False)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="both", length=0)
        axes.spines[:].set_visible(False)
        bar = axes.get_figure().colorbar(image, ax=axes, pad=0.01)  # type: ignore[union-attr]
        bar.outline.set_visible(False)
        return shown

    with_numbers(frame, column)
    days = len(frame) and _times(frame).dt.floor("D").nunique()
    return _drawn(draw, frame, title or f"{column} by hour", height=0.3 * max(days, 1) + 1.1)


def _times(frame: pandas.DataFrame) -> pandas.Series[pandas.Timestamp]:
    times = frame["time"] if "time" in frame else frame.index.to_series()
    return times.reset_index(drop=True)


def _hours(frame: pandas.DataFrame, column: str, how: str) -> pandas.DataFrame:
    import pandas

    times = _times(frame)
    if (
        "time" not in frame.columns
    ):  # a tick stands at its interval's end, which may be the next hour's beginning
        times = times - pandas.Timedelta(1, "us")
    values = frame[column].reset_index(drop=True)
    day = times.dt.strftime("%a %d %b").rename("day (UTC)")
    order = list(dict.fromkeys(day))
    shown = values.groupby([day, times.dt.hour.rename("hour")]).agg(how).unstack("hour")
    return shown.reindex(index=order, columns=range(24))


def _histogram(latencies: pandas.Series[float]) -> pandas.DataFrame:
    """Counts between round bounds: 0.001, 0.002, 0.005, 0.01 …, from the smallest to the largest that hold one."""
    import pandas

    bounds = [0.0, *(round(lead * 10.0**power, 6) for power in range(-6, 4) for lead in (1, 2, 5))]
    places = pandas.cut(latencies, [-1.0, *bounds], labels=[f"{each:g}" for each in bounds])
    counts = places.value_counts(sort=False)
    held = [n for n, count in enumerate(counts) if count]
    shown = counts.iloc[held[0] : held[-1] + 1] if held else counts.iloc[:0]
    if (
        len(held) > 1 and held[0] == 0
    ):  # from 0 it is infinitely far to the next: one empty bar says that there is a gap
        shown = counts.iloc[[0, *range(max(held[1] - 1, 1), held[-1] + 1)]]
    return pandas.DataFrame(
        {"requests": shown.to_numpy()}, index=pandas.Index(list(shown.index), name="up to (s)")
    )


# ---- of accounts


def losses_chart(losses: pandas.DataFrame, *, title: str = "Messages that went astray") -> pandas.DataFrame:
    """Lost, doubled and reordered messages of each device, from a table of accounts (`run.losses`)."""

    def draw(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
        from matplotlib.ticker import MaxNLocator

        known = [each for each in LOSSES if each in frame]
        shown = frame[known].groupby(frame.index.get_level_values(0)).sum()
        shown = shown[(shown != 0).any(axis=1)]
        if len(shown):
            colours = [LOSSES[each] for each in known]
            named = shown.set_axis([short(str(each)) for each in shown.index])
            named.plot(kind="barh", stacked=True, ax=axes, color=colours, legend=False, width=0.7)
            axes.invert_yaxis()
            axes.set_xlabel("messages")
            axes.set_ylabel("")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.grid(visible=False, axis="y")
        else:
            _said(axes, "none")
        return shown

    return _drawn(draw, of_losses(losses, *LOSSES), title, height=0.26 * min(len(losses), 40) + 1.2)


# ---- what they share


def _drawn(
    draw: Callable[[Axes, pandas.DataFrame], pandas.DataFrame],
    frame: pandas.DataFrame,
    title: str,
    height: float | None = None,
) -> pandas.DataFrame:
    """Draw on a figure of its own and show it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    plot_style()
    width, usual = mpl.rcParams["figure.figsize"]
    figure = Figure(figsize=(width, height or usual), layout="constrained")
    axes = figure.subplots()
    shown = draw(axes, frame)
    headed(axes, title)
    apart(figure, axes)
    show(figure)
    return shown


def _over_time(axes: Axes, frame: pandas.DataFrame, *, zero: bool = True) -> None:
    """Lab time along the axis, counts from 0 up."""
    if not len(frame):
        _said(axes, "nothing yet")
        return
    first, last = frame.index.min(), frame.index.max()
    round_times(axes, first, last)
    if zero:
        low, high = axes.get_ylim()
        axes.set_ylim(0, max(high, 0.0) if high > low else 1)


def _said(axes: Axes, text: str) -> None:
    """Words where there is nothing to draw."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="#7b8794")
    axes.set_yticks([])
    if not axes.lines:
        axes.set_xticks([])
    axes.grid(visible=False)


def _unit(longest: float) -> tuple[float, str]:
    """Seconds, or milliseconds where none is a second long."""
    return (1.0, "s") if not longest < 1 else (1000.0, "ms")


__all__ = [
    "errors_chart",
    "histogram_chart",
    "hours_chart",
    "latency_chart",
    "losses_chart",
    "overview",
    "raster_chart",
    "rate_chart",
    "rates",
    "states_chart",
]
