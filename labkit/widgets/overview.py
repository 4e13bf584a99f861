"""Pictures of several charts, such as the overview of a run or of a lab."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from labkit.widgets.drawing import drawable, lay_out, plot_style, png, set_head
from labkit.widgets.frames import expect_ticks
from labkit.widgets.over_time import draw_errors, draw_latency, draw_rate, draw_states
from labkit.widgets.units import lab_time

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 10.0, 2.55  # inches: of a picture, and of a row of its charts


class Part(NamedTuple):
    """A chart of a picture. draw: draws it on axes; is_empty: it has no data; below: the legend is below the chart."""

    title: str
    draw: Callable[[Axes], object]
    is_empty: bool = False
    below: bool = True


def picture(parts: Sequence[Part], title: str = "") -> bytes:
    """Draw the charts with data, two in a row, with a line that names the empty ones. Return a PNG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    shown = [each for each in parts if not each.is_empty] or parts[:1]
    nothing = ", ".join(each.title.lower() for each in parts if each not in shown)
    heading = "\n".join(filter(None, [title, f"no data: {nothing}" if nothing else ""]))
    plot_style()
    with mpl.rc_context({"axes.titlesize": 10, "legend.fontsize": 8, "font.size": 8.5}):
        rows = [list(range(len(shown)))[at : at + 2] for at in range(0, len(shown), 2)]
        if len(rows) > 1:
            rows[-1] *= 2 // len(rows[-1])  # a single chart in the last row takes its full width
        layout = ConstrainedLayoutEngine(hspace=0.08, wspace=0.05)
        figure = Figure(figsize=(WIDTH, HEIGHT * len(rows)), layout=layout)
        places = figure.subplot_mosaic([[str(each) for each in row] for row in rows])
        for axes, part in zip(places.values(), shown, strict=True):
            part.draw(axes)
            axes.set_xlabel("")
        lay_out(figure)
        for axes, part in zip(places.values(), shown, strict=True):
            set_head(axes, part.title, below=part.below)
        if heading:
            text = drawable(heading).replace("$", r"\$")
            figure.suptitle(text, x=0.01, ha="left", fontsize=10, color="#52606d", wrap=True)
        return png(figure)


def overview(frame: pandas.DataFrame, title: str = "") -> bytes:
    """Return the overview of a run as a PNG, from a frame of ticks: devices by state, requests, latency and errors."""
    expect_ticks(frame)
    kinds = [each for each in frame if str(each).startswith("error ")]
    rate = _rate_name(frame)
    parts = [
        Part("Devices by state", lambda axes: draw_states(axes, frame), not len(frame)),
        Part(rate, lambda axes: draw_rate(axes, frame), not len(frame)),
        Part(
            "Latency", lambda axes: draw_latency(axes, frame), "p50" not in frame or not frame["p50"].count()
        ),
        Part("Errors by kind", lambda axes: draw_errors(axes, frame), not (kinds and len(frame))),
    ]
    return picture(parts, title or lab_time(frame.attrs.get("rate")))


def _rate_name(frame: pandas.DataFrame) -> str:
    from labkit.widgets.over_time import rates
    from labkit.widgets.units import shown_rates

    return str(shown_rates(rates(frame)).columns[0]).capitalize() if len(frame) else "Requests per second"
