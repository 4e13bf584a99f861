"""Drawings of a run over lab time on matplotlib axes: devices by state, rates, latencies, errors."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from labkit.widgets.drawing import round_times, shades, short
from labkit.widgets.frames import beginning, from_beginning, isolated
from labkit.widgets.marks import draw_marks, marks_of
from labkit.widgets.units import LEAST_COUNT, decades, duration, lab_time, shown_rates

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    import pandas
    from matplotlib.axes import Axes

STATES = {
    "running": "#1d4f9c",
    "sleeping": "#5b94dc",
    "polling": "#8e5bbf",
    "paused": "#c9701a",
    "failed": "#d64545",
    "ended": "#2e9e6b",
    "waiting": "#8a94a0",
}
LATENCY = "#178a8a"
LATENCIES = dict(
    zip(("p50", "p90", "p99"), shades(LATENCY, 3), strict=True)
)  # shades, since they are one quantity
ERRORS = ("#d64545", "#c9701a", "#8e5bbf", "#6b7785", "#178a8a", "#c2587a")
ANSWERED = "#3b7dd8"
MOST_NAMES = 24  # number of devices, and of points of a line, up to which all are labelled
INSTANT = timedelta(seconds=2)  # width of a bar if there is only one row


def draw_latency(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
    """Draw the percentiles of latency on a logarithmic axis, from a frame of ticks; return them."""
    shown = frame[[each for each in LATENCIES if each in frame]]
    known = len(shown) > 0 and not shown.isna().all(axis=None)
    if len(shown) and not known:
        write_text(axes, "no answer")
    for name in shown if known else ():
        axes.plot(
            frame.index,
            shown[name],
            label=name,
            color=LATENCIES[str(name)],
            marker="." if shown[name].count() < MOST_NAMES else None,
        )
        points = shown[name].where(isolated(shown[name]))
        axes.plot(frame.index, points, ".", color=LATENCIES[str(name)])
    if known:
        low, high = shown.min(axis="columns"), shown.max(axis="columns")
        axes.vlines(
            frame.index, low, high, color=LATENCY, alpha=0.25, linewidth=2
        )  # the quantiles of an interval
        _log_seconds(axes, shown)
    over_time(axes, frame, beginning(frame), zero=False, ends=False)
    return shown


def _log_seconds(axes: Axes, shown: pandas.DataFrame) -> None:
    """Make the axis of values logarithmic, with durations as labels; a 0 lies below the first power of ten."""
    low, high, zero = decades(shown)
    powers = range(low, high + 1, max(-(-(high - low) // 5), 1))
    ticks = [10.0**each for each in powers]
    if zero:
        axes.set_yscale("symlog", linthresh=10.0**low, linscale=0.4)
        axes.set_ylim(-(10.0**low) / 8, 10.0**high)
        ticks.insert(0, 0.0)
    else:
        axes.set_yscale("log")
        axes.set_ylim(10.0**low, 10.0**high)
    axes.set_yticks(ticks, [duration(each) for each in ticks])
    axes.set_yticks([], minor=True)
    axes.set_ylabel("latency in lab time")


def draw_rate(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
    """Draw the rate of requests in a suitable unit, from a frame of ticks; return it."""
    shown, begin = shown_rates(rates(frame)), beginning(frame)
    [column] = shown
    drawn = from_beginning(shown, begin)
    if len(drawn) > 1:
        axes.plot(drawn.index, drawn[column], color=ANSWERED, drawstyle="steps-pre")
        axes.fill_between(drawn.index, drawn[column], color=ANSWERED, step="pre", alpha=0.15)
    elif len(drawn):
        write_text(axes, "no rate of a single interval")
    axes.set_ylabel(str(column))
    over_time(axes, frame, begin)
    return shown


def draw_errors(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
    """Draw the number of errors of each kind, from a frame of ticks; return them."""
    kinds = [str(each) for each in frame if str(each).startswith("error ")]
    shown = frame[kinds].rename(columns={each: each.removeprefix("error ") for each in kinds})
    if kinds and len(shown):
        _stacked(axes, from_beginning(_most(shown), beginning(frame)), ERRORS, step="pre")
    elif len(frame):
        write_text(axes, "none")
    every = frame.attrs.get("every")
    axes.set_ylabel(f"failed requests per {duration(every) if every else 'interval'}")
    over_time(axes, frame, beginning(frame), whole=bool(kinds), least=LEAST_COUNT if kinds else 0)
    return shown


def _most(shown: pandas.DataFrame) -> pandas.DataFrame:
    """Return as many kinds as there are colours: the most frequent ones, and the sum of the others."""
    if len(shown.columns) <= len(ERRORS):
        return shown
    order = shown.sum().sort_values(ascending=False, kind="stable").index
    kept, rest = [each for each in shown if each in order[: len(ERRORS) - 1]], order[len(ERRORS) - 1 :]
    return shown[kept].assign(**{f"{len(rest)} other kinds": shown[rest].sum(axis="columns")})


def draw_states(axes: Axes, frame: pandas.DataFrame) -> pandas.DataFrame:
    """Draw the number of devices in each state, from a frame of ticks; return them."""
    known = [each for each in STATES if each in frame and frame[each].any()]
    shown = frame[known]
    if known and len(shown):
        _stacked(axes, from_beginning(shown, beginning(frame)), [STATES[each] for each in known])
    axes.set_ylabel("devices")
    over_time(axes, frame, beginning(frame), whole=len(axes.collections) > 0)
    return shown


def _stacked(
    axes: Axes, shown: pandas.DataFrame, colours: Sequence[str], step: Literal["pre"] | None = None
) -> None:
    """Draw stacked areas, or for a single row, which has no area, stacked bars."""
    if len(shown) > 1:
        columns, labels = [shown[each] for each in shown], [short(str(each)) for each in shown]
        axes.stackplot(shown.index, columns, labels=labels, colors=list(colours), step=step)
        return
    bottom = 0.0
    for name, colour in zip(shown, colours, strict=False):
        height = float(shown[name].iloc[0])
        axes.bar(shown.index, height, INSTANT, bottom, label=short(str(name)), color=colour)  # type: ignore[arg-type]
        bottom += height


def rates(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the requests per second of every interval, from a frame of ticks.

    The first interval is taken to be as long as the second if the frame does not give its length; a last one cut short
    by the end of the run is averaged with the one before.
    """
    requests = frame["requests"].astype("float64")
    seconds = frame.index.to_series().diff().dt.total_seconds()
    if (begin := beginning(frame)) is not None:
        seconds.iloc[0] = (frame.index[0] - begin).total_seconds()
    rate = requests / seconds.where(seconds > 0)
    if len(frame) > 2 and seconds.iloc[-1] < seconds.median() / 2:
        rate.iloc[-2:] = requests.iloc[-2:].sum() / seconds.iloc[-2:].sum()
    shown: pandas.DataFrame = rate.to_frame("requests per second")
    return shown


def over_time(
    axes: Axes,
    frame: pandas.DataFrame,
    begin: pandas.Timestamp | None,
    *,
    zero: bool = True,
    whole: bool = False,
    ends: bool = True,
    least: float = 0,
) -> None:
    """Set the axis of lab time, from `begin` on if that is known, and draw the marks of the frame.

    zero: the axis of values begins at 0; whole: values are counts, and their axis ends at `least` or above; ends:
    without `zero`, leave a margin at both ends of the time.
    """
    if not len(frame):
        write_text(axes, "nothing yet")
        return
    first, last = frame.index.min() if begin is None else begin, frame.index.max()
    round_times(axes, first, last)
    axes.set_xlabel(lab_time(frame.attrs.get("rate")), color="#52606d", fontsize="small")
    margin = (last - first) / 100
    at_end = any(
        abs(mark.time - each.timestamp()) < margin.total_seconds()
        for mark in marks_of(frame)
        for each in (first, last)
    )
    draw_marks(axes, frame)
    if ((not zero and ends) or at_end) and last > first:  # the axis would hide what is at its ends
        axes.set_xlim(first - margin, last + margin)
    if zero:
        low, high = axes.get_ylim()
        axes.set_ylim(0, max(high, least) if high > low else max(least, 1))
    if whole:
        axes.yaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]


def write_text(axes: Axes, text: str) -> None:
    """Write a text instead of a chart that has no data."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="#52606d")
    axes.set_yticks([])
    if not axes.lines:
        axes.set_xticks([])
    axes.grid(visible=False)
