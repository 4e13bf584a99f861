"""Charts for notebooks. A picture differs from machine to machine, so each chart returns the frame it shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from labkit.reporting.verdicts import Verdicts

COLOURS = {
    "passed": "#2e9e6b",
    "failed": "#d64545",
    "warned": "#d9982b",
    "skipped": "#9aa5b1",
    "broken": "#8e5bbf",
}
CYCLE = ("#3b7dd8", "#e08a2e", "#2e9e6b", "#8e5bbf", "#d64545", "#6b7785")


def plot_style() -> None:
    """Give this notebook's charts labkit's looks, and leave versions out of the pictures."""
    import matplotlib as mpl
    from IPython.core.getipython import get_ipython
    from matplotlib.rcsetup import cycler

    mpl.rcParams.update(
        {
            "figure.figsize": (8, 3.2),
            "figure.dpi": 110,
            "savefig.bbox": "tight",
            "axes.prop_cycle": cycler(color=CYCLE),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#e4e7eb",
            "legend.frameon": False,
            "font.size": 10,
        }
    )
    shell = get_ipython()
    if shell is not None:  # the inline backend, not rcParams, decides how a picture is written
        shell.run_line_magic(
            "config",
            "InlineBackend.print_figure_kwargs = {'bbox_inches': 'tight', 'metadata': {'Software': None}}",
        )


def chart(
    frame: pandas.DataFrame,
    *,
    title: str,
    kind: Literal["bar", "barh", "line", "step", "area"] = "bar",
    stacked: bool = False,
    colours: Sequence[str] | None = None,
    x: str = "",
    y: str = "",
) -> pandas.DataFrame:
    """Draw a frame, a series for each column, and return it for the cell to show.

    A picture differs from machine to machine, so tests compare the frame beside it instead. x, y: labels. Where the
    index holds times, the ticks are at round ones; the legend stands above the picture, where it crosses nothing.
    """
    import matplotlib as mpl
    import pandas
    from matplotlib.figure import Figure

    plot_style()
    width, height = mpl.rcParams["figure.figsize"]
    if kind == "barh":
        height = max(height, 0.26 * len(frame))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    over_time = isinstance(frame.index, pandas.DatetimeIndex)
    if kind == "step" or (
        kind == "line" and over_time
    ):  # pandas has formatters of its own for lines over time
        style = "steps-post" if kind == "step" else "default"
        for column, colour in zip(frame, colours or CYCLE, strict=False):
            axes.plot(frame.index, frame[column], drawstyle=style, label=column, color=colour)
    else:
        frame.plot(kind=kind, stacked=stacked, color=colours, ax=axes, legend=False)
    axes.set(xlabel=x, ylabel=y)
    if kind == "barh":
        axes.set_xlim(right=1.04 * (frame.sum(axis=1) if stacked else frame).to_numpy().max())
    else:
        axes.margins(y=0.06)
    if kind == "barh":
        axes.invert_yaxis()
    if over_time:
        _round_times(axes, frame.index[0], frame.index[-1])
    _headed(axes, title)
    _show(figure)
    return frame


def _round_times(axes: Axes, first: pandas.Timestamp, last: pandas.Timestamp) -> None:
    """Ticks at whole hours of a day, at midnight over several days; the axis ends with the data."""
    from matplotlib.dates import (
        AutoDateLocator,
        ConciseDateFormatter,
        DateFormatter,
        DayLocator,
        HourLocator,
        date2num,
    )

    days = (last - first).total_seconds() / 86_400
    if days <= 2:
        axes.xaxis.set_major_locator(HourLocator(byhour=range(0, 24, 3)))
        axes.xaxis.set_major_formatter(DateFormatter("%H:%M"))
    elif days <= 10:
        axes.xaxis.set_major_locator(DayLocator())
        axes.xaxis.set_major_formatter(DateFormatter("%a %d %b"))
    else:
        axes.xaxis.set_major_locator(locator := AutoDateLocator())
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_xlim(date2num(first.floor("h")), date2num(last.ceil("h")))


def _headed(axes: Axes, title: str) -> None:
    """Title and legend above the picture, the one at its left, the other at its right."""
    axes.set_title(title, pad=10)
    labels = axes.get_legend_handles_labels()[1]
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=max(len(labels), 1),
        borderaxespad=0.3,
        handlelength=1.4,
    )


def outcome_chart(shown: Verdicts, title: str = "Checks by part") -> pandas.DataFrame:
    """A bar for each part of the requirements, coloured by its checks' verdicts; returns the numbers."""
    frame = shown.by_part()
    if frame.empty:
        return frame
    frame = frame.loc[:, (frame != 0).any()]
    return chart(
        frame,
        title=title,
        kind="barh",
        stacked=True,
        colours=[COLOURS[str(each)] for each in frame],
        x="checks",
    )


def matrix_chart(frame: pandas.DataFrame, *, title: str) -> pandas.DataFrame:
    """Draw a table of booleans: who (rows) may do what (columns); returns the frame.

    Yes is a filled green field with a tick, no an empty one with a cross, so that colour is not all that tells.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    plot_style()
    rows, columns = frame.shape
    figure = Figure(figsize=(2.2 + 1.1 * columns, 0.9 + 0.42 * rows), layout="constrained")
    axes = figure.subplots()
    allowed = frame.to_numpy(dtype=bool)
    axes.imshow(allowed, cmap=ListedColormap(["#f4f5f7", "#bfe5d2"]), vmin=0, vmax=1, aspect="auto")
    for row in range(rows):
        for column in range(columns):
            yes = allowed[row, column]
            axes.text(
                column,
                row,
                "✓" if yes else "✗",
                ha="center",
                va="center",
                color="#1d7a50" if yes else "#9aa5b1",
                fontsize=12,
            )
    axes.set_xticks(range(columns), [str(each) for each in frame.columns])
    axes.set_yticks(range(rows), [str(each) for each in frame.index])
    axes.set_xticks([each - 0.5 for each in range(1, columns)], minor=True)
    axes.set_yticks([each - 0.5 for each in range(1, rows)], minor=True)
    axes.grid(visible=False)
    axes.grid(which="minor", color="white", linewidth=3)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(title)
    _show(figure)
    return frame


def sequence_chart(steps: Iterable[tuple[str, str, str]], *, title: str) -> pandas.DataFrame:
    """Draw who says what to whom, top to bottom; steps: (from, to, what). Returns them as a frame.

    Actors are in the order in which they first appear.
    """
    import pandas
    from matplotlib.figure import Figure

    plot_style()
    frame = pandas.DataFrame(list(steps), columns=["from", "to", "what"])
    actors = list(
        dict.fromkeys(name for pair in zip(frame["from"], frame["to"], strict=True) for name in pair)
    )
    gap = max(
        2.2, *(0.08 * len(text) + 0.5 for _, _, text in _numbered(frame))
    )  # inches between two lifelines
    figure = Figure(figsize=(gap * len(actors), 0.9 + 0.36 * len(frame)), layout="constrained")
    axes = figure.subplots()
    for column, name in enumerate(actors):
        axes.plot([column, column], [0.2, len(frame) + 0.4], color="#c8cfd8", linewidth=1, zorder=1)
        axes.text(
            column,
            -0.25,
            name,
            ha="center",
            va="center",
            weight="bold",
            color="white",
            bbox={"boxstyle": "round,pad=0.45", "facecolor": CYCLE[column % len(CYCLE)], "edgecolor": "none"},
        )
    for number, (source, to, text) in enumerate(_numbered(frame), 1):
        _arrow(axes, actors.index(source), actors.index(to), number, text)
    axes.set(title=title, xlim=(-0.6, len(actors) - 0.4), ylim=(len(frame) + 0.6, -0.8))
    axes.axis("off")
    _show(figure)
    return frame


def _numbered(frame: pandas.DataFrame) -> list[tuple[str, str, str]]:
    return [(row[0], row[1], f"{n}. {row[2]}") for n, row in enumerate(frame.itertuples(index=False), 1)]


def _arrow(axes: Axes, source: int, to: int, y: float, text: str) -> None:
    """An arrow with its label beside the sender, between two lifelines, so that it crosses none."""
    if source == to:
        axes.text(source + 0.05, y, text, ha="left", va="center", fontsize=9, backgroundcolor="white")
        axes.plot(source, y, marker="o", color="#3d4852", markersize=5)
        return
    axes.annotate(
        "", xy=(to, y), xytext=(source, y), arrowprops={"arrowstyle": "-|>", "color": "#3d4852", "shrinkA": 0}
    )
    middle = source + (0.5 if to > source else -0.5)
    axes.text(middle, y - 0.1, text, ha="center", va="bottom", fontsize=9)


def _show(figure: Figure) -> None:
    """Show a figure here: a notebook shows a bare Figure only once pyplot has been imported."""
    from IPython.display import Image, display

    picture = BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight", metadata={"Software": None})
    display(Image(picture.getvalue()))
