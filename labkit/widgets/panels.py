"""Live pictures: the charts of a run as bqplot figures, which change while they are looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from labkit.widgets.drawing import STEPS
from labkit.widgets.frames import alone, from_beginning
from labkit.widgets.over_time import ANSWERED, ERRORS, LATENCIES, STATES

if TYPE_CHECKING:
    import pandas

HEIGHT = "230px"
TEXT = {"font-size": "11px"}
DAY = 86_400
APART = (*STEPS, 3600, 7200, 10_800, 21_600, 43_200, DAY, 7 * DAY)  # seconds between two ticks


class Panel:
    """A figure over lab time with lines, or with areas on top of each other."""

    def __init__(
        self,
        title: str,
        colours: Mapping[str, str],
        *,
        stacked: bool = False,
        unit: str = "",
        steps: bool = False,
    ) -> None:
        import bqplot

        self._colours = dict(colours)
        self._stacked = stacked
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
        self._times = bqplot.Axis(scale=self._x, grid_lines="none", tick_style=TEXT)
        self._values = bqplot.Axis(
            scale=self._y, side="left", grid_color="#e4e7eb", tick_style=TEXT, tick_format="~g"
        )
        self.figure = bqplot.Figure(
            marks=[self._lines],
            axes=[self._times, self._values],
            title=f"{title} ({unit})" if unit else title,
            title_style={"font-size": "12px", "font-weight": "bold", "text-anchor": "middle"},
            fig_margin={"top": 34, "bottom": 26, "left": 46, "right": 22},
            legend_style={"stroke-width": 0, "fill": "none"},
            padding_x=0,
            padding_y=0,
            animation_duration=0,
            display_toolbar=False,
        )
        self.figure.layout.height = HEIGHT
        self.figure.layout.width = "100%"
        self.figure.layout.min_width = "0"

    def show(self, frame: pandas.DataFrame, begin: pandas.Timestamp | None = None) -> None:
        """Show the columns of a frame over its index, in the order of the colours; others come after them. begin: of
        the first interval.
        """
        frame = from_beginning(frame, begin)
        names = [each for each in self._colours if each in frame and self._says(frame[each])]
        names += [str(each) for each in frame if each not in self._colours]
        self._times.visible = self._values.visible = len(frame) > 1
        if len(frame) < 2 or not names:
            self._lines.visible = False
            if len(frame) > 1:
                self._scale(frame, 0.0)
            return
        shown = frame[names].astype("float64")
        if self._stacked:
            shown = shown.fillna(0.0).cumsum(axis="columns")
            shown.insert(0, "", 0.0)
        colours = [self._colours.get(name, ERRORS[n % len(ERRORS)]) for n, name in enumerate(names)]
        self._scale(frame, float(shown.max().max()))
        with self._lines.hold_sync():
            self._lines.x = frame.index.to_numpy(dtype="datetime64[ms]")
            self._lines.y = shown.to_numpy().T
            self._lines.colors = ["#ffffff", *colours] if self._stacked else colours
            self._lines.fill_colors = colours  # the first fills what lies between the first two lines
            self._lines.visible = True
            if not self._stacked:
                self._lines.marker = "circle" if any(alone(shown[each]).any() for each in shown) else None

    def _says(self, values: pandas.Series[Any]) -> bool:
        """Is it worth a line? Nothing on top of others is not, a latency of nothing is."""
        return bool(values.any() if self._stacked else values.notna().any())

    def _scale(self, frame: pandas.DataFrame, top: float) -> None:
        """Ticks at round numbers and times; bqplot by itself divides an axis into equal parts."""
        import pandas

        step = _step(top)
        count = max(math.ceil(top / step), 1)
        self._values.tick_values = [step * each for each in range(count + 1)]
        self._y.max = step * count
        first, last = frame.index[0].timestamp(), frame.index[-1].timestamp()
        apart = next((each for each in APART if last - first <= 5 * each), APART[-1])
        begin = math.ceil(first / apart)
        ticks = [each * apart for each in range(begin, math.floor(last / apart) + 1)]
        self._times.tick_values = pandas.to_datetime(ticks, unit="s").to_numpy(dtype="datetime64[ms]")
        self._times.tick_format = "%H:%M:%S" if apart < 60 else "%H:%M" if apart < DAY else "%a %d"


def _step(top: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are 5 steps at most."""
    if not top > 0:  # nothing was counted
        return 1.0
    power = 10.0 ** math.floor(math.log10(top / 5))
    return next(lead * power for lead in (1, 2, 5, 10) if lead * power * 5 >= top * 0.999999)


def states_panel() -> Panel:
    """How many devices are in which state."""
    return Panel("Devices by state", STATES, stacked=True)


def rate_panel() -> Panel:
    """Requests per second of lab time."""
    return Panel("Requests per second", {"requests per second": ANSWERED}, steps=True)


def latency_panel() -> Panel:
    """Percentiles of latency."""
    return Panel("Latency", LATENCIES, unit="s of lab time")


def errors_panel() -> Panel:
    """Errors by kind; the first kinds that come get the first colours."""
    return Panel("Errors by kind", {}, stacked=True, steps=True)


def key(colours: Mapping[str, str]) -> str:
    """A legend as HTML: names with their colours."""
    return "".join(
        f"<span class='labkit-key'><i style='background:{colour}'></i>{escape(name)}</span>"
        for name, colour in colours.items()
    )


def grid(panels: Sequence[Panel], keys: Sequence[Any]) -> Any:
    """The figures side by side, each with its legend below; below each other where it is narrow."""
    import ipywidgets

    boxes = []
    for panel, legend in zip(panels, keys, strict=True):
        layout = ipywidgets.Layout(flex="1 1 380px", min_width="280px", overflow="hidden")
        boxes.append(ipywidgets.VBox([panel.figure, legend], layout=layout))
    return ipywidgets.Box(boxes, layout=ipywidgets.Layout(flex_flow="row wrap", width="100%"))
