"""Chart of what the plays of a hunt showed for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.core.extras import needs

if TYPE_CHECKING:
    import pandas


def novelty_chart(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Draw the number of behaviours that plays have shown, over the plays; return it. frame: of `Hunt.frame()`."""
    with needs("lab"):
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        from labkit.widgets.drawing import CYCLE, lay_out, plot_style, set_head, show

    drawn = frame[["new"]].cumsum().rename(columns={"new": "behaviours"})
    plot_style()
    figure = Figure(figsize=(8, 3), dpi=110, layout="constrained")
    axes = figure.subplots()
    axes.step(drawn.index, drawn["behaviours"], where="post", color=CYCLE[0])
    axes.set_ylim(0, 1.05 * drawn["behaviours"].max() if len(drawn) else 1)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("play")
    axes.set_ylabel("behaviours")
    lay_out(figure)
    set_head(axes, "Behaviours seen, over plays")
    show(figure, drawn)
    return drawn
