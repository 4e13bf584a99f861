"""Vertical lines on charts over time: restarts, faults and releases of the lab."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from labkit.core.marks import Mark
from labkit.core.words import counted
from labkit.widgets.drawing import short

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

COLOURS = {"restart": "#1f2933", "fault": "#b02a2a", "release": "#1f7a4f"}
DASHES = {"restart": (0, (1, 0)), "fault": (0, (4, 2)), "release": (0, (1, 1.5))}
PLACES = 150  # along an axis; marks of one kind at the same place are one line
LONGEST = 30  # characters of a mark's text in a legend


def marks_of(frame: pandas.DataFrame) -> list[Mark]:
    """Return the marks in a frame's attributes (`attrs["marks"]`), by time."""
    return sorted(Mark(*each) for each in frame.attrs.get("marks", ()))


def described(mark: Mark) -> str:
    """Return a mark in words, with its lab time."""
    return f"{datetime.fromtimestamp(mark.time, UTC):%H:%M:%S} {mark.kind}: {mark.text}"


def places(marks: Iterable[Mark], first: float, last: float) -> dict[str, list[float]]:
    """Return the times of the lines to draw between two times, by kind, so that no two lines overlap.

    Marks of one kind that are too close to each other share a line; a line of another kind is moved just beside it.
    """
    width = (last - first) / PLACES or 1.0
    found: dict[str, list[float]] = {}
    taken: dict[int, str] = {}
    for mark in marks:
        place = int((mark.time - first) / width)
        if mark.kind not in COLOURS or not first <= mark.time <= last or taken.get(place) == mark.kind:
            continue
        time = mark.time
        while place in taken and taken[place] != mark.kind:
            place += 1
            time = min(first + place * width, last)
        if place not in taken:
            taken[place] = mark.kind
            found.setdefault(mark.kind, []).append(time)
    return {kind: found[kind] for kind in COLOURS if kind in found}


def draw_marks(axes: Axes, frame: pandas.DataFrame) -> None:
    """Draw the marks of a frame within the range of the axis, with a legend entry for each kind."""
    from matplotlib.dates import date2num, num2date

    low, high = (num2date(each).timestamp() for each in axes.get_xlim())
    marks = [each for each in marks_of(frame) if low <= each.time <= high]
    for kind, times in places(marks, low, high).items():
        texts = list(dict.fromkeys(each.text for each in marks if each.kind == kind))
        count = sum(each.kind == kind for each in marks)
        label = short(f"{kind}: {texts[0]}", LONGEST) if len(texts) == 1 else counted(count, kind)
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
