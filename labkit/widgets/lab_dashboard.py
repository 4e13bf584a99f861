"""Live view of a lab: requests, refusals with their reasons, script runs, mails, and messages to handsets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol

from labkit.widgets import panels, style
from labkit.widgets.dashboard import Dashboard
from labkit.widgets.drawing import drawable
from labkit.widgets.frames import beginning, from_beginning
from labkit.widgets.marks import marks_of
from labkit.widgets.over_time import over_time
from labkit.widgets.overview import Part, picture
from labkit.widgets.tally import Tally
from labkit.widgets.units import LEAST_COUNT, duration, lab_time, speed

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas
    from matplotlib.axes import Axes


# Failures are at the bottom of a chart, where a few of them among many successes remain visible.
REQUESTS = {"refused": "#d64545", "answered": "#3b7dd8"}
SCRIPTS = {"failed runs": "#d64545", "runs": "#2e9e6b"}
MESSAGES = {"mails": "#c9701a", "messages": "#8e5bbf"}
CHARTS = {"Requests": REQUESTS, "Script runs": SCRIPTS, "Mails and messages": MESSAGES}
NAMES = [name for colours in CHARTS.values() for name in colours]
REASONS = 8  # of refusals, in the picture and in the table
LONGEST, LINE = 52, 28  # characters of a reason in the picture, and of a line of it
LINES = 12  # of the table of recent events
QUIET = 4  # refreshes without a change after which the picture is drawn again
HEARTBEAT = 0.5  # seconds of real time between two refreshes


class LabSource(Protocol):
    """A lab as its dashboard uses it."""

    def follow(self, tally: Tally) -> Callable[[], object]:
        """Have what is new in the lab counted, on the lab's thread, until the lab or the returned function ends it.

        Returns a function that ends this; any thread may call it.
        """
        ...

    def time(self) -> float:
        """Return lab time in seconds."""
        ...

    def rate(self) -> float:
        """Return the seconds of lab time per real second; 0 on a virtual clock."""
        ...


class LabDashboard(Dashboard):
    """Dashboard of a lab, displayed as the value of a cell. It counts events from its creation on."""

    def __init__(self, source: LabSource) -> None:
        super().__init__()
        import ipywidgets as widgets

        self._source = source
        self._tally = Tally()
        self._seen = -1
        self._rate = source.rate()
        self._quiet = 0  # refreshes since the last change
        self._head, self._tiles, self._marks, self._reasons, self._recent = (
            widgets.HTML(layout=widgets.Layout(width="100%", margin="0")) for _ in range(5)
        )
        self._panels = [
            panels.Panel(title, colours, stacked=True, steps=True, whole=True)
            for title, colours in CHARTS.items()
        ]
        keys = [widgets.HTML(panels.key(colours)) for colours in CHARTS.values()]
        for each in keys:
            each.add_class("labkit-keys")
        self._grid = panels.Grid(self._panels, keys)
        whole = widgets.VBox(
            [
                widgets.HTML(style.CSS, layout=widgets.Layout(display="none")),
                self._head,
                self._tiles,
                self._marks,
                self._grid.widget,
                self._reasons,
                self._recent,
            ]
        )
        whole.add_class("labkit-dashboard")
        self._shown_by(whole)
        self.at_end(source.follow(self._tally))
        self.refresh()

    def refresh(self) -> None:
        """Show the present state. Call this on the kernel's thread."""
        if self.closed:
            return
        self._updates.ask_after(HEARTBEAT)
        self._rate = self._source.rate()
        now = f"lab time {datetime.fromtimestamp(self._source.time(), UTC):%Y-%m-%d %H:%M:%S} UTC"
        self._head.value = style.head("lab", "running", now, speed(self._rate))
        if self._tally.changes == self._seen:
            self._quiet += 1
            if self._quiet == QUIET:
                self._output.update()  # a notebook stores the picture, also if no cell ends
            return
        self._quiet = 0
        self._seen = self._tally.changes
        frame = self._tally.frame()
        totals = self._tally.totals
        self._tiles.value = style.tiles({name: f"{totals[name]:,}" for name in NAMES})
        unit = duration(frame.attrs["every"])
        for panel, (title, colours) in zip(self._panels, CHARTS.items(), strict=True):
            panel.show(frame[list(colours)], beginning(frame), marks_of(frame), f"{title}, per {unit}")
        self._grid.fold()
        self._marks.value = panels.mark_line(marks_of(frame))
        why = self._tally.why(REASONS)
        failed = self._tally.failed(REASONS)
        self._reasons.value = "".join(
            style.rows(columns, [(count, text) for text, count in found])
            for columns, found in (
                (["refusals", "reason"], why),
                (["failed runs", "script and error"], failed),
            )
            if found
        )
        lines = [
            (f"{datetime.fromtimestamp(when, UTC):%H:%M:%S}", what, text)
            for when, what, text in self._tally.last(LINES)
        ]
        self._recent.value = style.rows(["time", "what", "latest"], lines) if lines else ""
        self._output.outdate()

    def _picture(self) -> bytes:
        """Return a PNG of the charts that are not empty, with bars for reasons of refusals and of failed runs."""
        frame = self._tally.frame()
        frame.attrs["rate"] = self._rate
        parts = [
            Part(title, partial(_draw, frame=frame, colours=colours), not frame[list(colours)].any(axis=None))
            for title, colours in CHARTS.items()
        ]
        for title, found in (
            ("Refusals by reason", self._tally.why(REASONS)),
            ("Failed runs by error", self._tally.failed(REASONS)),
        ):
            parts.append(Part(title, partial(_bars, reasons=dict(found)), not found, below=False))
        return picture(parts, lab_time(self._rate))

    def _words(self) -> str:
        counts = ", ".join(f"{self._tally.totals[name]:,} {name}" for name in NAMES)
        why = "; ".join(f"{count} refused: {text}" for text, count in self._tally.why(REASONS))
        return "; ".join(filter(None, [lab_time(self._rate), counts, why]))

    def __repr__(self) -> str:
        return "<dashboard of a lab>"


def _draw(axes: Axes, frame: pandas.DataFrame, colours: Mapping[str, str]) -> None:
    known = [each for each in colours if frame[each].any()]
    if known:
        shown = from_beginning(frame[known], beginning(frame))
        axes.stackplot(
            shown.index,
            [shown[each] for each in known],
            labels=known,
            colors=[colours[each] for each in known],
            step="pre",
        )
    axes.set_ylabel(f"per {duration(frame.attrs['every'])}")
    over_time(axes, frame, beginning(frame), whole=True, least=LEAST_COUNT)


def _bars(axes: Axes, reasons: Mapping[str, int]) -> None:
    names = [shortened(drawable(each)) for each in reasons]
    axes.barh(range(len(names)), list(reasons.values()), color=REQUESTS["refused"], height=0.6)
    axes.set_yticks(range(len(names)), [each.replace("$", r"\$") for each in names])
    axes.set_ylim(max(len(names), LEAST_COUNT) - 0.5, -0.5)
    axes.bar_label(axes.containers[0], padding=4)  # type: ignore[arg-type]
    axes.set_xticks([])  # the numbers are beside the bars
    axes.margins(x=0.08)
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)


def shortened(text: str) -> str:
    """Return the beginning of a reason, wrapped, as a label that leaves room for the charts."""
    from textwrap import fill

    return fill(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…", LINE)
