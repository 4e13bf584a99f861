"""The live view of a lab: requests, refusals with their reasons, script runs, mails, and messages to handsets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from labkit.widgets import panels, style
from labkit.widgets.dashboard import Dashboard
from labkit.widgets.drawing import headed, plot_style, png, round_times
from labkit.widgets.frames import beginning, from_beginning
from labkit.widgets.over_time import said
from labkit.widgets.tally import Happened, Mailed, Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas
    from matplotlib.axes import Axes

REQUESTS = {"answered": "#3b7dd8", "refused": "#d64545"}
SCRIPTS = {"runs": "#2e9e6b", "failed runs": "#d64545"}
MESSAGES = {"mails": "#e08a2e", "messages": "#8e5bbf"}
CHARTS = {"Requests": REQUESTS, "Script runs": SCRIPTS, "Mails and messages": MESSAGES}
REASONS = 8  # of refusals, in the picture and in the table
LINES = 12  # of what happened last
QUIET = 4  # looks at which nothing has happened, after which the picture is drawn anew
HEARTBEAT = 0.5  # seconds of real time between two looks


class LabSource(Protocol):
    """What the dashboard needs to know of a lab."""

    def follow(
        self,
        record: Callable[[Happened], object],
        mail: Callable[[Mailed], object],
        forget: Callable[[], object],
    ) -> Callable[[], object]:
        """Call the first two with what happens from now on, and `forget` when the lab is reset, on the lab's own
        thread, until what is returned is called, on whatever thread.
        """
        ...

    def time(self) -> float:
        """Lab time in seconds."""
        ...


class LabDashboard(Dashboard):
    """Widgets over a lab, from the moment on that they are made. Let a cell show it."""

    def __init__(self, source: LabSource) -> None:
        super().__init__()
        import ipywidgets as widgets

        self._source = source
        self._tally = Tally()
        self._seen = -1
        self._quiet = 0  # looks since something happened last
        self._head, self._tiles, self._reasons, self._recent = (
            widgets.HTML(layout=widgets.Layout(width="100%", margin="0")) for _ in range(4)
        )
        self._panels = [
            panels.Panel(title, colours, stacked=True, steps=True) for title, colours in CHARTS.items()
        ]
        keys = [widgets.HTML(panels.key(colours)) for colours in CHARTS.values()]
        for each in keys:
            each.add_class("labkit-keys")
        whole = widgets.VBox(
            [
                widgets.HTML(style.CSS, layout=widgets.Layout(display="none")),
                self._head,
                self._tiles,
                panels.grid(self._panels, keys),
                self._reasons,
                self._recent,
            ]
        )
        whole.add_class("labkit-dashboard")
        self._shown_by(whole)
        self.at_end(source.follow(self._tally.record, self._tally.mail, self._tally.clear))
        self.refresh()

    def refresh(self) -> None:
        """Show the present state; on the kernel's thread alone."""
        if self.closed:
            return
        self._updates.ask_after(HEARTBEAT)
        if self._tally.changes == self._seen:
            self._quiet += 1
            if self._quiet == QUIET:
                self._output.update()  # the picture is what a notebook keeps, also where no cell ends
            return
        self._quiet = 0
        self._seen = self._tally.changes
        self._now = datetime.fromtimestamp(self._source.time(), UTC)
        frame = self._tally.frame()
        totals = self._tally.totals
        self._head.value = style.head("lab", "runs", f"{self._now:%Y-%m-%d %H:%M:%S} UTC")
        shown = {name: f"{totals[name]:,}" for colours in CHARTS.values() for name in colours}
        self._tiles.value = style.tiles(shown)
        for panel, colours in zip(self._panels, CHARTS.values(), strict=True):
            panel.show(frame[list(colours)], beginning(frame))
        why = self._tally.why(REASONS)
        self._reasons.value = (
            style.rows(["refusals", "reason"], [(n, text) for text, n in why]) if why else ""
        )
        lines = [
            (f"{datetime.fromtimestamp(when, UTC):%H:%M:%S}", what, text)
            for when, what, text in self._tally.last(LINES)
        ]
        self._recent.value = style.rows(["time", "what", "the last ones"], lines) if lines else ""
        self._output.outdate()

    def _picture(self) -> bytes:
        """Three charts, and a bar for each reason of refusals."""
        import matplotlib as mpl
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        plot_style()
        frame = self._tally.frame()
        with mpl.rc_context({"axes.titlesize": 10, "legend.fontsize": 8, "font.size": 8.5}):
            figure = Figure(figsize=(10, 4.6), layout=ConstrainedLayoutEngine(hspace=0.08, wspace=0.05))
            *over_time, last = figure.subplots(2, 2).flat
            for axes, (title, colours) in zip(over_time, CHARTS.items(), strict=True):
                _draw(axes, frame, colours)
                headed(axes, title, below=True)
            _bars(last, dict(self._tally.why(REASONS)))
            headed(last, "Refusals by reason")
            return png(figure)

    def __repr__(self) -> str:
        return "<dashboard of a lab>"


def _draw(axes: Axes, frame: pandas.DataFrame, colours: Mapping[str, str]) -> None:
    known = [each for each in colours if frame[each].any()]
    if not known:
        said(axes, "none")
        return
    shown = from_beginning(frame, beginning(frame))
    axes.stackplot(
        shown.index,
        [shown[each] for each in known],
        labels=known,
        colors=[colours[each] for each in known],
        step="pre",
    )
    round_times(axes, shown.index[0], shown.index[-1])


def _bars(axes: Axes, reasons: Mapping[str, int]) -> None:
    if not reasons:
        said(axes, "none")
        return
    names = [each if len(each) <= 42 else f"{each[:41]}…" for each in reasons]
    axes.barh(range(len(names)), list(reasons.values()), color=REQUESTS["refused"], height=0.6)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
