"""Charts of sweeps and comparisons. Each shows a picture and returns the frame that it draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labkit.core.extras import needs
from labkit.widgets.drawing import CYCLE, lay_out, plot_style, set_head, short, show

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

ROW = 0.34  # inches of a row


def interval_chart(summary: pandas.DataFrame, *, by: str, title: str, x: str) -> pandas.DataFrame:
    """Draw a mean and its interval for each row. summary: as of `Sweep.summary`; by: the index level with colours."""
    names = [str(each) for each in summary.index.names]
    keys = [each if isinstance(each, tuple) else (each,) for each in summary.index]
    place = names.index(by) if by in names else 0
    colours = list(dict.fromkeys(key[place] for key in keys))
    rows = list(dict.fromkeys(_without(key, place) for key in keys))
    step = 0.7 / len(colours)

    def draw(axes: Axes) -> None:
        for number, colour in enumerate(colours):
            found = [
                (key, row)
                for key, (_, row) in zip(keys, summary.iterrows(), strict=True)
                if key[place] == colour
            ]
            heights = [
                rows.index(_without(key, place)) + (number - (len(colours) - 1) / 2) * step
                for key, _ in found
            ]
            means = [row["mean"] for _, row in found]
            spread = [
                [row["mean"] - row["low"] for _, row in found],
                [row["high"] - row["mean"] for _, row in found],
            ]
            axes.errorbar(
                means,
                heights,
                xerr=spread,
                fmt="o",
                capsize=3,
                color=CYCLE[number % len(CYCLE)],
                label=short(f"{by} {colour}" if by else str(colour)),
            )
        labels = [short(", ".join(map(str, row))) for row in rows]
        axes.set_yticks(range(len(rows)), labels)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set(xlabel=x, ylabel=short(", ".join(map(str, _without(tuple(names), place)))))
        axes.grid(visible=False, axis="y")

    means = summary[["mean"]].set_axis([", ".join(map(str, key)) for key in keys]).T
    _drawn(draw, title, means, 1.3 + ROW * len(rows) * max(1, len(colours)))
    return summary


def distribution_chart(values: Mapping[str, Sequence[float]], *, title: str, x: str) -> pandas.DataFrame:
    """Draw the share of values up to each value (the empirical distribution) of several samples.

    values: by the name of the sample. Returns the minimum, quartiles and maximum of each.
    """
    import pandas

    def draw(axes: Axes) -> None:
        for (name, sample), colour in zip(values.items(), CYCLE, strict=False):
            if len(sample):
                axes.ecdf(sample, label=short(name), color=colour)
        axes.set(xlabel=x, ylabel="share of the values up to x")

    frame = pandas.DataFrame(
        {name: pandas.Series(list(sample), dtype=float) for name, sample in values.items()}
    )
    _drawn(draw, title, frame)
    return frame.describe().loc[["min", "25%", "50%", "75%", "max"]]


def _drawn(draw: Any, title: str, frame: pandas.DataFrame, height: float | None = None) -> None:
    with needs("lab"):
        import matplotlib as mpl
        from matplotlib.figure import Figure

    plot_style()
    width, usual = mpl.rcParams["figure.figsize"]
    figure = Figure(figsize=(width, height or usual), layout="constrained")
    axes = figure.subplots()
    draw(axes)
    lay_out(figure)
    set_head(axes, title)
    show(figure, frame)


def _without(key: tuple[object, ...], place: int) -> tuple[object, ...]:
    return key[:place] + key[place + 1 :]
