"""Live view of a fleet: states of its devices, rates, latencies and errors of requests, and controls of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from html import escape
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabkitError
from labkit.core.words import counted
from labkit.fleet.measures import Tick
from labkit.fleet.measures import frame as frame_of
from labkit.widgets import losses, panels, style
from labkit.widgets.charts import overview
from labkit.widgets.charts import rates as rates_of
from labkit.widgets.dashboard import Dashboard
from labkit.widgets.frames import beginning
from labkit.widgets.marks import marks_of
from labkit.widgets.over_time import ERRORS, LATENCIES, STATES
from labkit.widgets.sources import DeviceFailure, FleetSource, RunSource
from labkit.widgets.units import duration, in_words, shown_rates, speed

if TYPE_CHECKING:
    import pandas

WINDOW = 300  # ticks that the live pictures show; the PNG shows all
MOST_FAILED = 6  # failed devices listed on the PNG
SHOWN = 20  # failed devices in the table
SPEEDS = (1, 10, 60, 600, 3600)
ARRIVALS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)  # factors of the run's arrival rate
PAUSE = 20  # pause between two sums of the accounts, as a multiple of the time that one takes, since it blocks the lab
MOST_LATE = 0.1  # seconds of real time by which requests may be late without a word
HEARTBEAT = 0.5  # seconds of real time between two refreshes while a run reports nothing


class FleetDashboard(Dashboard):
    """Dashboard of a fleet, displayed as the value of a cell. It follows the fleet's present run, and can start one."""

    def __init__(self, source: FleetSource) -> None:
        super().__init__()
        self._source = source
        # JupyterLab calls back the controls on a thread of their own (a subshell), so that they work while a cell runs.
        self._turns = RLock()
        self._run: RunSource | None = None
        self._final = False  # whether the end of the run is shown
        self._active: list[str] = []  # names of the active faults
        self._head, self._tiles, self._said, self._trace = (_html() for _ in range(4))
        self._marks, self._losses = _html(), _html()
        self._losses_shown = False  # whether the losses of the ended run are shown
        self._panels = [
            panels.states_panel(),
            panels.rate_panel(),
            panels.latency_panel(),
            panels.errors_panel(),
        ]
        self._error_key, self._state_key = _html("labkit-keys"), _html("labkit-keys")
        self._failures = _box()
        self._failure_count = -1
        self._shown_by(self._built())
        self.refresh()

    def _built(self) -> Any:
        import ipywidgets as widgets

        def button(text: str, icon: str, act: Callable[[], None], kind: str = "") -> Any:
            made = widgets.Button(
                description=text, icon=icon, button_style=kind, layout=widgets.Layout(width="auto")
            )
            made.on_click(lambda _: self._acted(act))
            return made

        self._start = button("Start", "play", self.start, "primary")
        self._pause = button("Pause", "pause", self._toggle)
        self._stop = button("Stop", "stop", self._end)
        rate = self._source.rate()
        options: list[tuple[str, float]] = [(f"{each} ×", float(each)) for each in SPEEDS]
        if rate not in (0, *SPEEDS):
            options = sorted([*options, (f"{rate:g} ×", rate)], key=lambda each: each[1])
        if not rate:
            options = [("unlimited", 0.0)]
        self._rate = widgets.Dropdown(
            options=options,
            value=float(rate),
            description="lab time",
            disabled=not rate,
            style={"description_width": "auto"},
            layout=widgets.Layout(width="auto"),
        )
        self._rate.observe(lambda change: self._set_rate(change["new"]), "value")
        self._arrivals = widgets.Dropdown(
            options=[(f"{each:g} ×", each) for each in ARRIVALS],
            value=1.0,
            description="arrivals",
            style={"description_width": "auto"},
            layout=widgets.Layout(width="auto", display="none"),
        )
        self._arrivals.observe(lambda change: self._acted(partial(self._scale, change["new"])), "value")
        controls = [self._start, self._pause, self._stop, self._rate, self._arrivals]
        controls += self._fault_controls(button)
        keys = [
            self._state_key,
            _html("labkit-keys"),
            _html("labkit-keys", panels.key(LATENCIES)),
            self._error_key,
        ]
        self._grid = panels.Grid(self._panels, keys)
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        box = widgets.VBox(
            [
                widgets.HTML(style.CSS, layout=widgets.Layout(display="none")),
                self._head,
                widgets.HBox(controls, layout=row),
                self._said,
                self._tiles,
                self._marks,
                self._grid.widget,
                self._losses,
                self._failures,
                self._trace,
            ]
        )
        box.add_class("labkit-dashboard")
        return box

    def _fault_controls(self, button: Callable[..., Any]) -> list[Any]:
        import ipywidgets as widgets

        if not self._source.faults:
            return []
        self._fault = widgets.Dropdown(
            options=list(self._source.faults),
            description="fault",
            style={"description_width": "auto"},
            layout=widgets.Layout(width="auto"),
        )
        self._every = widgets.BoundedIntText(
            value=10,
            min=1,
            max=1_000_000,
            description="one request in",
            style={"description_width": "auto"},
            layout=widgets.Layout(width="170px"),
        )

        def add() -> None:
            self._source.add_fault(self._fault.value, self._every.value)

        return [
            self._fault,
            self._every,
            button("Add fault", "bolt", add, "warning"),
            button("Clear faults", "eraser", self._source.clear_faults),
        ]

    # ---- actions of a cell and of the buttons

    def start(self) -> None:
        """Start a run with the dashboard's arguments. Raises LabError if one is active."""
        self._follow(self._source.start())

    def _toggle(self) -> None:
        if self._run is not None:
            if self._run.paused:
                self._run.resume()
            else:
                self._run.pause()

    def _set_rate(self, rate: float) -> None:
        if rate != self._source.rate():
            self._acted(partial(self._source.set_rate, rate))

    def _scale(self, factor: float) -> None:
        if self._run is not None and self._run.arrivals != factor:
            self._run.scale_arrivals(factor)

    def _end(self) -> None:
        if self._run is not None:
            self._run.stop()

    def _acted(self, act: Callable[[], object]) -> None:
        """Run the action of a control, and show its error."""
        with self._turns:
            try:
                act()
                self._said.value = ""
            except Exception as error:  # noqa: BLE001  only the dashboard can show it
                text = str(error) if isinstance(error, LabkitError) else f"{type(error).__name__}: {error}"
                self._said.value = f"<span class='labkit-said'>{escape(text)}</span>"
            self.refresh()

    def _follow(self, run: RunSource) -> None:
        self._run, self._final, self._failure_count, self._losses_shown = run, False, -1, False
        self._totals: Mapping[str, int] | None = None
        self._added = False  # whether the accounts were summed after the end of the run
        self._next = 0.0  # real time of the next sum of the accounts
        self._trace.value = ""  # removes the journal of a device of the previous run
        run.on_tick(lambda _: None if self.closed else self._updates.ask())

    def _accounts(self, run: RunSource) -> Mapping[str, int] | None:
        done, began = run.done, perf_counter()
        if not self._added and (done or began >= self._next):
            self._totals, self._added = run.totals, done
            ended = perf_counter()
            self._next = ended + PAUSE * (ended - began)
        return self._totals

    # ---- display

    def refresh(self) -> None:
        """Show the present state. Call this on the kernel's thread, or on that of a control."""
        with self._turns:
            if not self.closed:
                self._refresh()

    def _refresh(self) -> None:
        self._speed = self._source.rate()
        newest = self._source.run()
        self._active = list(self._source.active_faults())
        if newest is not None and newest is not self._run:
            self._follow(newest)
        run = self._run
        ended = run is not None and run.done
        ticks = list(run.ticks) if run is not None else []
        accounts = self._accounts(run) if run is not None else None
        failed = run.failed if run is not None else ()
        self._head.value = style.head(self._source.title, self._state, *self._notes(ticks)) + self._wrong(
            failed
        )
        frame = self._frame(ticks[-WINDOW:])
        self._tiles.value = style.tiles({**self._facts(ticks, frame), **losses.facts(accounts, ended=ended)})
        self._marks.value = panels.mark_line(list(run.marks) if run is not None else [])
        self._draw(frame)
        self._show_losses(accounts, ended)
        self._follow_rate(self._speed)
        self._show_failures(failed)
        under_way = run is not None and not ended
        arrivals = None if run is None else run.arrivals
        self._arrivals.layout.display = "none" if arrivals is None else ""
        if arrivals in ARRIVALS:
            self._arrivals.value = arrivals
        self._start.disabled, self._pause.disabled, self._stop.disabled = (
            under_way,
            not under_way,
            not under_way,
        )
        paused = run is not None and run.paused and under_way
        self._pause.description, self._pause.icon = ("Resume", "play") if paused else ("Pause", "pause")
        if under_way:
            self._updates.ask_after(HEARTBEAT)
        elif run is not None and not self._final:
            self._final = True
            self._output.outdate()
            self._output.update()

    def _follow_rate(self, rate: float) -> None:
        """Show the rate of lab time, which a cell may have changed."""
        if rate and rate != self._rate.value:
            if rate not in [each for _, each in self._rate.options]:
                self._rate.options = [*self._rate.options, (f"{rate:g} ×", rate)]
            self._rate.value = rate

    @property
    def _state(self) -> str:
        if self._run is None:
            return "not begun"
        if self._run.done:
            return "failed" if self._run.error is not None else "stopped" if self._run.stopped else "ended"
        return "paused" if self._run.paused else "running"

    def _notes(self, ticks: Sequence[Tick]) -> list[str]:
        notes = []
        if ticks:
            notes.append(f"lab time {datetime.fromtimestamp(ticks[-1].time, UTC):%Y-%m-%d %H:%M:%S} UTC")
        if self._run is not None:
            notes.append(speed(self._run.rate if self._run.done else self._speed))
            if self._run.lasting is not None:
                passed = ticks[-1].time - self._run.began if ticks else 0.0
                notes.append(f"{min(passed / self._run.lasting, 1.0):.0%} done")
        if len(ticks) > WINDOW:
            notes.append(f"charts of the latest {WINDOW} intervals")
        if self._active:
            notes.append(f"faults: {', '.join(self._active)}")
        return notes

    def _wrong(self, failed: Sequence[DeviceFailure]) -> str:
        """Return the error of the run and the number of failed devices as HTML."""
        if self._run is None:
            return ""
        texts = [self._run.error or "", _lateness(self._run)]
        if count := len({each.identity for each in failed}):
            texts.append(f"{counted(count, 'device')} failed, see below")
        return "".join(f"<div class='labkit-said'>{escape(each)}</div>" for each in texts if each)

    def _show_losses(self, accounts: Mapping[str, int] | None, ended: bool) -> None:
        """Show the devices with losses once the run has ended: before, messages are still in transit."""
        if not (ended and accounts is not None and self._run is not None):
            self._losses.value = ""
        elif not self._losses_shown:
            self._losses_shown = True
            self._losses.value = losses.table(self._run.losses)

    def _facts(self, ticks: Sequence[Tick], frame: pandas.DataFrame) -> dict[str, str]:
        if not ticks:
            return {"requests": "0", "errors": "0"}
        last = ticks[-1]
        over = self._run is not None and self._run.done
        known = ("failed", "ended") if over else STATES  # the other states ended with the run
        devices = {state: last.devices[state] for state in known if last.devices.get(state)}
        rates = shown_rates(rates_of(frame))
        [rate] = rates.to_numpy()[-1].tolist()
        p50, p90, p99 = last.latency.percentiles([50, 90, 99])
        facts = {
            **{state: f"{count:,}" for state, count in devices.items()},
            "requests": f"{sum(each.requests for each in ticks):,}",
            str(rates.columns[0]): f"{rate:,.3g}" if rate == rate else "–",
            "p50": style.seconds(p50),
            "p90": style.seconds(p90),
            "p99": style.seconds(p99),
            "errors": f"{sum(sum(each.errors.values()) for each in ticks):,}",
        }
        if last.lag is not None:
            facts["handler lag"] = style.seconds(last.lag)
        return facts

    def _frame(self, ticks: Sequence[Tick]) -> pandas.DataFrame:
        if self._run is None:
            return frame_of(ticks)
        made = frame_of(ticks, self._run.began, self._run.every)
        made.attrs.update(marks=[tuple(each) for each in self._run.marks], rate=self._run.rate)
        return made

    def _draw(self, frame: pandas.DataFrame) -> None:
        states, rate, latency, errors = self._panels
        begin, marks = beginning(frame), marks_of(frame)
        states.show(frame[[each for each in STATES if each in frame]], begin, marks)
        rates = shown_rates(rates_of(frame)) if len(frame) else rates_of(frame)
        rate.show(rates, begin, marks, str(rates.columns[0]).capitalize())
        latency.show(frame[list(LATENCIES)], begin, marks, "Latency, in lab time")
        kinds = [str(each) for each in frame if str(each).startswith("error ")]
        names = [each.removeprefix("error ") for each in kinds]
        title = f"Errors by kind, per {duration(frame.attrs.get('every', 0))}"
        errors.show(frame[kinds].set_axis(names, axis="columns"), begin, marks, title)
        colours = {in_words(name): ERRORS[n % len(ERRORS)] for n, name in enumerate(names)}
        self._error_key.value = panels.key(colours)
        self._grid.fold()
        known = {name: colour for name, colour in STATES.items() if name in frame and frame[name].any()}
        self._state_key.value = panels.key(known)

    def _show_failures(self, failed: Sequence[DeviceFailure]) -> None:
        """Show the failed devices, newest first, with buttons that show their journals."""
        import ipywidgets as widgets

        if len(failed) == self._failure_count:
            return
        self._failure_count = len(failed)
        old, lines = self._failures.children, []
        for each in list(reversed(failed))[:SHOWN]:
            link = widgets.Button(description=each.identity, tooltip="its trace and its journal", icon="list")
            link.add_class("labkit-failed")
            link.on_click(lambda _, failed=each: self._acted(partial(self._show_trace, failed)))
            when = datetime.fromtimestamp(each.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
            text = f"{escape(each.error)} <span class='labkit-soft'>at {when}, seed {each.seed}</span>"
            lines.append(widgets.HBox([link, _html(text=text)], layout=widgets.Layout(align_items="center")))
        if lines:
            more = f", the latest {SHOWN} of them" if len(failed) > SHOWN else ""
            title = f"<b>{len(failed)} failed</b>{more}; click a device to see its trace and its journal"
            lines.insert(0, _html(text=title))
        self._failures.children = lines
        for each in old:
            for inner in (*getattr(each, "children", ()), each):
                inner.close()

    def _show_trace(self, failed: DeviceFailure) -> None:
        frame = self._source.journal(failed.identity)
        columns = ["time", "kind", "actor", "summary", "status"]
        shown = frame[columns].astype({"status": "string"}).fillna("")
        shown["time"] = frame["time"].dt.strftime("%H:%M:%S.%f").str[:-3]
        lines = shown.to_numpy().tolist()
        self._trace.value = (
            f"<b>{escape(failed.identity)} failed</b><pre class='labkit-trace'>{escape(failed.trace)}</pre>"
            f"<b>its journal</b>" + style.rows(columns, lines)
        )

    def _picture(self) -> bytes:
        ticks = list(self._run.ticks) if self._run is not None else []
        return overview(self._frame(ticks), "\n".join(self._lines(ticks)))

    def _words(self) -> str:
        ticks = list(self._run.ticks) if self._run is not None else []
        facts = self._facts(ticks, self._frame(ticks[-WINDOW:]))
        return "; ".join([*self._lines(ticks), ", ".join(f"{name} {value}" for name, value in facts.items())])

    def _lines(self, ticks: Sequence[Tick]) -> list[str]:
        run = self._run
        lines = [", ".join(filter(None, [self._source.title, self._state, *self._notes(ticks)]))]
        if run is not None:
            lines += [run.error or "", _lateness(run), losses.summary(self._accounts(run), ended=run.done)]
            if failed := list(dict.fromkeys(each.identity for each in run.failed)):
                more = " …" if len(failed) > MOST_FAILED else ""
                lines.append(f"{len(failed):,} failed: {', '.join(failed[:MOST_FAILED])}{more}")
        return [each for each in lines if each]

    def __repr__(self) -> str:
        return f"<dashboard of {self._source.title}>"  # of any state: stored outputs are compared


def _lateness(run: RunSource) -> str:
    """Return a sentence about requests that are sent late, an empty one if they are not."""
    late = run.late()
    if not (run.rate and late > max(1.0, MOST_LATE * run.rate)):
        return ""
    said = f"half of the requests are sent {style.seconds(late)} or more after they are due"
    return f"{said}: the machine cannot keep up with {speed(run.rate)}"


def _html(kind: str = "", text: str = "") -> Any:
    import ipywidgets as widgets

    made = widgets.HTML(text, layout=widgets.Layout(width="100%", margin="0"))
    if kind:
        made.add_class(kind)
    return made


def _box() -> Any:
    import ipywidgets as widgets

    return widgets.VBox([])
