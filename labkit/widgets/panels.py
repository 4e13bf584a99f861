"""Live charts of a run as bqplot figures, which are updated in place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from labkit.widgets.drawing import STEPS
from labkit.widgets.frames import from_beginning
from labkit.widgets.marks import COLOURS, described, places
from labkit.widgets.over_time import ANSWERED, ERRORS, LATENCIES, MOST_NAMES, STATES
from labkit.widgets.units import LEAST_COUNT, RATES, decades, duration

if TYPE_CHECKING:
    import pandas

    from labkit.core.marks import Mark

HEIGHT = "230px"
TEXT = {"font-size": "11px"}
DAY = 86_400
FOLDED = "labkit-folded"
BELOW = 0.5  # powers of ten from the lowest tick of a logarithmic axis down to its 0
MOST_MARKS = 6  # marks listed as text
APART = (*STEPS, 3600, 7200, 10_800, 21_600, 43_200, DAY, 7 * DAY)  # seconds between two ticks


class Panel:
    """A figure over lab time with lines or stacked areas.

    whole: the values are counts; log: they are durations in seconds, on a logarithmic axis.
    """

    def __init__(
        self,
        title: str,
        colours: Mapping[str, str],
        *,
        stacked: bool = False,
        steps: bool = False,
        whole: bool = False,
        log: bool = False,
    ) -> None:
        import bqplot

        self.is_empty = True
        self.title = title
        self._colours = dict(colours)
        self._stacked, self._whole, self._log = stacked, whole, log
        self._x = bqplot.DateScale()
        self._y = bqplot.LinearScale(min=0)
        self._lines = bqplot.Lines(
            x=[],
            y=[[]],
            scales={"x": self._x, "y": self._y},
            stroke_width=0 if stacked else 2,
            interpolation="step-before" if steps else "linear",
            fill="between" if stacked else "none",
            fill_opacities=[0.75] * 12,
            marker_size=16,
            visible=False,
        )
        self._marks = bqplot.Lines(
            x=[[]],
            y=[[]],
            scales={"x": self._x, "y": self._y},
            stroke_width=1.5,
            line_style="dashed",
            visible=False,
        )
        self._times = bqplot.Axis(scale=self._x, grid_lines="none", tick_style=TEXT)
        self._values = bqplot.Axis(
            scale=self._y, side="left", grid_color="#e4e7eb", tick_style=TEXT, tick_format="~g"
        )
        self.figure = bqplot.Figure(
            marks=[self._lines, self._marks],
            axes=[self._times, self._values],
            title=title,
            title_style={"font-size": "12px", "font-weight": "bold", "text-anchor": "middle"},
            fig_margin={"top": 34, "bottom": 26, "left": 52, "right": 30},
            legend_style={"stroke-width": 0, "fill": "none"},
            padding_x=0,
            padding_y=0,
            animation_duration=0,
            display_toolbar=False,
        )
        self.figure.layout.height = HEIGHT
        self.figure.layout.width = "100%"
        self.figure.layout.min_width = "0"

    def show(
        self,
        frame: pandas.DataFrame,
        begin: pandas.Timestamp | None = None,
        marks: Sequence[Mark] = (),
        title: str = "",
    ) -> None:
        """Show the columns of a frame over its index: columns with a colour in the colours' order, then the others.

        begin: of the first interval; marks: of the lab; marks outside of the frame's time are left out.
        """
        self.figure.title = title or self.title
        frame = from_beginning(frame, begin)
        names = [each for each in self._colours if each in frame and self._has_data(frame[each])]
        names += [str(each) for each in frame if each not in self._colours]
        self._times.visible = self._values.visible = len(frame) > 1
        self.is_empty = len(frame) < 2 or not names
        if self.is_empty:
            self._lines.visible = self._marks.visible = False
            return
        shown = frame[names].astype("float64")
        if self._stacked:
            shown = shown.fillna(0.0).cumsum(axis="columns")
            shown.insert(0, "", 0.0)
        elif self._log:
            shown = self._logarithmic(shown)
        colours = [self._colours.get(name, ERRORS[n % len(ERRORS)]) for n, name in enumerate(names)]
        low, high = self._scale(shown)
        times = frame.index.to_numpy(dtype="datetime64[ms]")
        with self._lines.hold_sync():
            if self._stacked:
                self._lines.x, self._lines.y = times, shown.to_numpy().T
                self._lines.colors = ["#ffffff", *colours]
                self._lines.fill_colors = colours  # the first one fills the area between the first two lines
            else:
                curves = [
                    (colour, *each)
                    for name, colour in zip(names, colours, strict=True)
                    for each in pieces(times, shown[name].to_numpy())
                ]
                self._lines.x, self._lines.y = aligned([(x, y) for _, x, y in curves])
                self._lines.colors = [colour for colour, _, _ in curves]
                single = any(len(x) == 1 for _, x, _ in curves)
                self._lines.marker = "circle" if single or len(frame) < MOST_NAMES else None
            self._lines.visible = True
        self._mark(frame, marks, low, high)

    def _has_data(self, values: pandas.Series[Any]) -> bool:
        """Return whether values are drawn: a stacked area with a value above 0, a line with any value."""
        return bool(values.any() if self._stacked else values.notna().any())

    def _logarithmic(self, shown: pandas.DataFrame) -> pandas.DataFrame:
        """Return the decimal logarithms of durations; a zero, which has none, goes below the lowest tick."""
        import numpy

        low, high, zero = decades(shown)
        values = shown.to_numpy()
        powers = numpy.log10(numpy.where(values > 0, values, 1.0))
        powers = numpy.where(values > 0, powers, numpy.where(values == 0, low - BELOW, numpy.nan))
        ticks = [*([low - BELOW] if zero else []), *range(low, high + 1, max(-(-(high - low) // 4), 1))]
        labels = [duration(10.0**each if each >= low else 0.0) for each in ticks]
        self._values.tick_labels = {f"{each:g}": label for each, label in zip(ticks, labels, strict=True)}
        self._values.tick_values = ticks
        self._y.min, self._y.max = ticks[0], float(high)
        made: pandas.DataFrame = shown.copy()
        made[:] = powers
        return made

    def _scale(self, shown: pandas.DataFrame) -> tuple[float, float]:
        """Set ticks at round numbers and times, which bqplot does not; return the bounds of the values' axis."""
        import pandas

        if not self._log:
            top = float(shown.max().max())
            if self._whole:
                top = max(top, LEAST_COUNT)
            step = max(_step(top), 1.0) if self._whole else _step(top)
            count = max(math.ceil(top / step), 1)
            self._values.tick_values = [step * each for each in range(count + 1)]
            self._y.max = step * count
        first, last = shown.index[0].timestamp(), shown.index[-1].timestamp()
        apart = next((each for each in APART if last - first <= 5 * each), APART[-1])
        begin = math.ceil(first / apart)
        ticks = [each * apart for each in range(begin, math.floor(last / apart) + 1)]
        self._times.tick_values = pandas.to_datetime(ticks, unit="s").to_numpy(dtype="datetime64[ms]")
        self._times.tick_format = "%H:%M:%S" if apart < 60 else "%H:%M" if apart < DAY else "%a %d"
        self._x.min, self._x.max = (
            each.tz_localize(None).floor("ms").to_pydatetime() for each in shown.index[[0, -1]]
        )
        return float(self._y.min or 0.0), float(self._y.max)

    def _mark(self, frame: pandas.DataFrame, marks: Sequence[Mark], low: float, high: float) -> None:
        """Show vertical lines for the marks within the frame's time."""
        import numpy

        first, last = frame.index[0].timestamp(), frame.index[-1].timestamp()
        lines = [
            (time, COLOURS[kind]) for kind, times in places(marks, first, last).items() for time in times
        ]
        if any(time - first < (last - first) / 100 for time, _ in lines):  # the axis would hide it
            self._x.min -= (frame.index[-1] - frame.index[0]).to_pytimedelta() / 100
        with self._marks.hold_sync():
            if lines:
                at = numpy.array([[time, time] for time, _ in lines]) * 1000
                self._marks.x = at.round().astype("int64").astype("datetime64[ms]")
                self._marks.y = numpy.array([[low, high]] * len(lines))
                self._marks.colors = [colour for _, colour in lines]
            self._marks.visible = bool(lines)


def pieces(x: Any, y: Any) -> list[tuple[Any, Any]]:
    """Return the parts of a curve between gaps (NaN), which the front end cannot draw."""
    import numpy

    known = numpy.flatnonzero(~numpy.isnan(y))
    if not len(known):
        return []
    parts = numpy.split(known, numpy.flatnonzero(numpy.diff(known) > 1) + 1)
    return [(x[each], y[each]) for each in parts]


def aligned(curves: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return curves as two arrays with a row per curve; shorter curves repeat their last point."""
    import numpy

    longest = max(len(x) for x, _ in curves)
    xs, ys = (
        [numpy.pad(curve[axis], (0, longest - len(curve[axis])), mode="edge") for curve in curves]
        for axis in (0, 1)
    )
    return numpy.array(xs), numpy.array(ys)


def _step(top: float) -> float:
    """Return a distance of ticks: 1, 2 or 5 times a power of ten, with which there are at most 5 steps up to `top`."""
    if not top > 0:  # nothing was counted
        return 1.0
    power = 10.0 ** math.floor(math.log10(top / 5))
    return next(lead * power for lead in (1, 2, 5, 10) if lead * power * 5 >= top * 0.999999)


def states_panel() -> Panel:
    """Return a panel of the number of devices in each state."""
    return Panel("Devices by state", STATES, stacked=True, whole=True)


def rate_panel() -> Panel:
    """Return a panel of requests per second of lab time, or per a longer unit."""
    colours = {f"requests per {unit}": ANSWERED for unit in RATES}
    return Panel("Requests per second", colours, steps=True)


def latency_panel() -> Panel:
    """Return a panel of percentiles of latency."""
    return Panel("Latency", LATENCIES, log=True)


def errors_panel() -> Panel:
    """Return a panel of errors by kind; kinds get colours in the order of their appearance."""
    return Panel("Errors by kind", {}, stacked=True, steps=True, whole=True)


def key(colours: Mapping[str, str]) -> str:
    """Return a legend as HTML: names with their colours."""
    return "".join(
        f"<span class='labkit-key'><i style='background:{colour}'></i>{escape(name)}</span>"
        for name, colour in colours.items()
    )


class Grid:
    """Grid of figures with legends, in as many columns as fit. Empty figures are folded into a line of their titles."""

    def __init__(self, panels: Sequence[Panel], keys: Sequence[Any]) -> None:
        import ipywidgets

        self._panels = tuple(panels)
        self._boxes = []
        for panel, legend in zip(panels, keys, strict=True):
            layout = ipywidgets.Layout(flex="1 1 380px", min_width="280px", overflow="hidden")
            self._boxes.append(ipywidgets.VBox([panel.figure, legend], layout=layout))
        row = ipywidgets.Layout(flex_flow="row wrap", width="100%")
        self._empty = ipywidgets.HTML(layout=ipywidgets.Layout(width="100%", margin="0"))
        self.widget = ipywidgets.VBox([ipywidgets.Box(self._boxes, layout=row), self._empty])
        self.fold()

    def fold(self) -> None:
        """Show the panels with data, and fold the empty ones.

        A folded figure keeps its size, though it is invisible: the front end cannot draw a figure without a size.
        """
        for box, panel in zip(self._boxes, self._panels, strict=True):
            (box.add_class if panel.is_empty else box.remove_class)(FOLDED)
        empty = ", ".join(panel.title.lower() for panel in self._panels if panel.is_empty)
        text = f"<span class='labkit-soft'>no data: {escape(empty)}</span>" if empty else ""
        if self._empty.value != text:
            self._empty.value = text


def mark_line(marks: Sequence[Mark]) -> str:
    """Return the newest marks as HTML, in the colours of their lines."""
    shown = marks[-MOST_MARKS:]
    more = (
        f"<span class='labkit-soft'>and {len(marks) - len(shown)} before</span>"
        if len(marks) > len(shown)
        else ""
    )
    inner = "".join(
        f"<span class='labkit-key'><i class='labkit-mark' style='border-color:{COLOURS[each.kind]}'></i>"
        f"{escape(described(each))}</span>"
        for each in reversed(shown)
    )
    return f"<div class='labkit-marks'>{inner}{more}</div>" if marks else ""
