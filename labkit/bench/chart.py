"""Chart of the measure `growth`: CPU time and memory over the number of writes."""

from __future__ import annotations

import re

from labkit.bench.measures import Result
from labkit.widgets.drawing import CYCLE, lay_out, plot_style, png, set_head

_DETAIL = re.compile(r"(micros|mebibytes)_(\d+)")


def points(result: Result) -> dict[int, tuple[float, float]]:
    """Return by number of writes, ascending: total CPU seconds, and MiB of memory at the end."""
    found: dict[int, dict[str, float]] = {}
    for name, value in result.details.items():
        if match := _DETAIL.fullmatch(name):
            found.setdefault(int(match[2]), {})[match[1]] = value
    return {size: (found[size]["micros"] * size / 1e6, found[size]["mebibytes"]) for size in sorted(found)}


def growth_chart(result: Result) -> bytes:
    """Return a PNG of two panels, each with the values extrapolated from the smallest size."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    plot_style()
    sizes = points(result)
    first, last = min(sizes), max(sizes)
    seconds, mebibytes = sizes[first]
    figure = Figure(figsize=(10, 3.6), dpi=110, layout="constrained")
    cost, memory = figure.subplots(1, 2)
    expected = {"color": CYCLE[5], "linestyle": "--", "label": f"extrapolated from the first {first:,}"}
    cost.plot([0, last], [0, seconds / first * last], **expected)
    memory.plot([0, last], [mebibytes, mebibytes], **expected)
    for axes, number, colour in ((cost, 0, CYCLE[0]), (memory, 1, CYCLE[2])):
        axes.plot(
            list(sizes), [each[number] for each in sizes.values()], marker="o", color=colour, label="measured"
        )
        axes.set_xlabel("writes")
        axes.set_xlim(0, 1.04 * last)
        axes.set_ylim(0, 1.12 * axes.dataLim.ymax)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    cost.set_ylabel("s")
    memory.set_ylabel("MiB")
    lay_out(figure)
    set_head(cost, "CPU time (real, not lab time)")
    set_head(memory, "Memory")
    return png(figure)
