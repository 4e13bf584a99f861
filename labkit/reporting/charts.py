"""Charts for notebooks: verdicts, tables of permissions and message sequences. Each returns the frame that it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from labkit.reporting.matrix import AREAS
from labkit.widgets.drawing import CYCLE, chart, plot_style, short, show

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from labkit.reporting.verdicts import Verdicts

COLOURS = {
    "passed": "#2e9e6b",
    "failed": "#d64545",
    "warned": "#b87a14",
    "skipped": "#6b7785",
    "broken": "#8e5bbf",
    "not reached": "#8c95a1",
}
LONGEST = 32  # characters of a message in a sequence diagram, so that its letters remain large on a page


def outcome_chart(shown: Verdicts, title: str = "Checks by part") -> pandas.DataFrame:
    """Draw a bar for each part of the requirements, coloured by the verdicts of its checks. Returns the numbers.

    The parts of an area in which every check passed share one bar, in which each check counts once.
    """
    frame = shown.by_part()
    if frame.empty:
        return frame
    frame = frame.loc[:, (frame != 0).any()]
    folded = shown.by_part(_shared_bars(frame))[frame.columns]
    notes = [
        ", ".join(f"{count} {outcome}" for outcome, count in row.items() if count)
        for row in folded.to_dict("records")
    ]
    chart(
        folded.div(folded.sum(axis=1), axis=0) * 100,
        title=title,
        kind="barh",
        stacked=True,
        colours=[COLOURS[str(each)] for each in folded],
        x="% of the checks",
        notes=notes,
    )
    return frame


def _shared_bars(frame: pandas.DataFrame) -> dict[str, str]:
    """Return the name of the bar of each part that shares one: parts of an area in which every check passed."""
    green = frame.index[frame.get("passed", 0) == frame.sum(axis=1)]
    areas = {str(part): str(part).partition("-")[0] for part in green}
    counts = Counter(areas.values())
    return {
        part: f"{AREAS.get(area, area)}: {counts[area]} parts"
        for part, area in areas.items()
        if counts[area] > 1
    }


def matrix_chart(frame: pandas.DataFrame, *, title: str) -> pandas.DataFrame:
    """Draw a table of booleans, such as the permissions (columns) of users (rows). Returns the frame.

    True is a green cell with a tick, False a grey one with a cross, so that the meaning does not depend on colour.
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
                color="#1d7a50" if yes else "#6b7785",
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
    show(figure, frame)
    return frame


def sequence_chart(steps: Iterable[tuple[str, str, str]], *, title: str) -> pandas.DataFrame:
    """Draw a sequence diagram of messages, top to bottom. Returns the messages as a frame.

    steps: sender, receiver and text of each message. Actors are in the order in which they first appear.
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
    show(figure, frame)
    return frame


def _numbered(frame: pandas.DataFrame) -> list[tuple[str, str, str]]:
    rows = enumerate(frame.itertuples(index=False), 1)
    return [(row[0], row[1], short(f"{number}. {row[2]}", LONGEST)) for number, row in rows]


def _arrow(axes: Axes, source: int, to: int, y: float, text: str) -> None:
    """Draw an arrow with its label beside the sender, between two lifelines, so that the label crosses none."""
    if source == to:
        axes.text(source + 0.05, y, text, ha="left", va="center", fontsize=9, backgroundcolor="white")
        axes.plot(source, y, marker="o", color="#3d4852", markersize=5)
        return
    axes.annotate(
        "", xy=(to, y), xytext=(source, y), arrowprops={"arrowstyle": "-|>", "color": "#3d4852", "shrinkA": 0}
    )
    middle = source + (0.5 if to > source else -0.5)
    axes.text(middle, y - 0.1, text, ha="center", va="bottom", fontsize=9)
