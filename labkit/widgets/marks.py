"""Vertical lines on charts over time: restarts, faults and releases of the lab."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from labkit.core.marks import Mark
from labkit.widgets.drawing import short

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

COLOURS = {"restart": "#1f2933", "fault": "#b02a2a", "release": "#1f7a4f"}
DASHES = {"restart": (0, (1, 0)), "fault": (0, (4, 2)), "release": (0, (1, 1.5))}
PLACES = 300  # along an axis; marks of one kind at the same place are one line
LONGEST = 30  # characters of a mark's text in a legend


def marks_of(frame: pandas.DataFrame) -> list[Mark]:
    """Return the marks that a frame carries (`attrs["marks"]`), by time."""
    return sorted(Mark(*each) for each in frame.attrs.get("marks", ()))


def described(mark: Mark) -> str:
    """Return a mark in words, with its lab time."""
    return f"{datetime.fromtimestamp(mark.time, UTC):%H:%M:%S} {mark.kind}: {mark.text}"


def places(marks: Iterable[Mark], first: float, last: float) -> dict[str, list[float]]:
    """Return the times of the lines to draw between two times, by kind, without those that would overlap."""
    width = (last - first) / PLACES or 1.0
    found: dict[str, dict[int, float]] = {}
    for mark in marks:
        if mark.kind in COLOURS and first <= mark.time <= last:
            found.setdefault(mark.kind, {}).setdefault(int((mark.time - first) / width), mark.time)
    return {kind: list(found[kind].values()) for kind in COLOURS if kind in found}


def draw_marks(axes: Axes, frame: pandas.DataFrame) -> None:
    """Draw the marks of a frame that lie within the axis, with a line of the legend for each kind."""
    from matplotlib.dates import date2num, num2date

    low, high = (num2date(each).timestamp() for each in axes.get_xlim())
    marks = [each for each in marks_of(frame) if low <= each.time <= high]
    for kind, times in places(marks, low, high).items():
        texts = list(dict.fromkeys(each.text for each in marks if each.kind == kind))
        count = sum(each.kind == kind for each in marks)
        label = short(f"{kind}: {texts[0]}", LONGEST) if len(texts) == 1 else f"{count} {kind}s"
        for number, time in enumerate(times):
            axes.axvline(
                date2num(datetime.fromtimestamp(time, UTC)),
                color=COLOURS[kind],
                linestyle=DASHES[kind],
                linewidth=1.2,
                zorder=3,
                label=label if not number else "_",
                gid=f"mark {kind}",
                clip_on=False,
            )
