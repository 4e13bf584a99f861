"""Options and result of `labkit fleet` as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from labkit.core.words import counted
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.behaviours import Counter
from labkit.fleet.measures import Latency, Tick
from labkit.fleet.shapes import Shape
from labkit.lab.run_options import Transport
from labkit.lab.thresholds import CountMeasure, RunMeasures, Threshold

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0}
Watch = Callable[[Sequence[Tick]], object]  # called with the intervals so far
SHOWN_ACCOUNTS = (
    *("sent", "acknowledged", "stored", "handled", "lost", "doubled", "reordered"),
    *("replaced", "forgotten", "unanswered", "arrived", "unknown"),
)
ALWAYS_SHOWN = 7  # first columns of SHOWN_ACCOUNTS, which are shown even if they are 0


@dataclass(frozen=True)
class FleetOptions:
    """Options of `labkit fleet` for one run.

    seconds: of lab time; prefix: of identities, "" for the default; accounts: whether to follow the numbers that
    devices count (always for `Counter`); arrivals: rate of each device; thresholds: limits on its measures; watch: as
    in `fleet_run`.
    """

    product: str
    devices: int
    behaviour: Behaviour
    seconds: float
    seed: int | None = None
    prefix: str = ""
    accounts: bool = False
    arrivals: Shape | None = None
    thresholds: Sequence[Threshold] = ()
    watch: Watch = lambda ticks: None
    transport: Transport = "tls"

    @property
    def counted(self) -> bool:
        """Whether the run keeps accounts, in a lab of its own."""
        return self.accounts or isinstance(self.behaviour, Counter)


class FailedDevice(NamedTuple):
    """A device that failed. time: lab time of the failure."""

    time: float
    identity: str
    error: str


@dataclass(frozen=True)
class Outcome:
    """Result of a run.

    latency: from the due time, in lab time; sending: from sending, in real time; seconds: lab time that it lasted;
    accounts: sums of its losses, empty without; interrupted: whether it was ended early.
    """

    order: FleetOptions
    seed: int
    ticks: Sequence[Tick]
    failed: Sequence[FailedDevice]
    latency: Latency
    sending: Latency
    timings: Mapping[str, float]
    seconds: float = field(default=0.0)
    accounts: Mapping[str, int] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def requests(self) -> int:
        """Number of requests."""
        return sum(tick.requests for tick in self.ticks)

    @property
    def errors(self) -> dict[str, int]:
        """Number of errors by kind."""
        kinds = sorted({kind for tick in self.ticks for kind in tick.errors})
        return {kind: sum(tick.errors.get(kind, 0) for tick in self.ticks) for kind in kinds}

    @property
    def measured(self) -> RunMeasures:
        """The measures that thresholds can limit."""
        requests = self.requests
        counts = {
            "requests": CountMeasure(requests),
            "rate": CountMeasure(self.timings["requests per second"]),
            "errors": CountMeasure(sum(self.errors.values()), requests),
            **{f"errors {kind}": CountMeasure(count, requests) for kind, count in self.errors.items()},
            "failed": CountMeasure(len(self.failed), self.order.devices),
            **{name: CountMeasure(count, self.accounts["sent"]) for name, count in self.accounts.items()},
        }
        durations = {"seconds": self.seconds, "real": self.timings["real"], "cpu": self.timings["cpu"]}
        return RunMeasures(self.latency, self.sending, durations, counts)

    @property
    def crossed(self) -> list[str]:
        """A line for each threshold that the run crossed."""
        lines = [each.crossed(self.measured) for each in self.order.thresholds]
        return [line for line in lines if line is not None]

    @property
    def good(self) -> bool:
        """Whether no threshold was crossed, and no device failed unless a threshold is for failed devices."""
        judged = any(each.measure == "failed" for each in self.order.thresholds)
        return not self.crossed and (judged or not self.failed)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON.

        Latencies from the due time are in seconds of lab time, all other durations in real seconds.
        """
        return {
            "product": self.order.product,
            "behaviour": type(self.order.behaviour).__name__,
            "devices": self.order.devices,
            "seed": self.seed,
            "seconds": round(self.seconds, 6),
            "requests": self.requests,
            "errors": self.errors,
            "failed": [{**each._asdict(), "time": _when(each.time)} for each in self.failed],
            "latency from due time": _percentiles(self.latency),
            "latency from sending": _percentiles(self.sending),
            "timings": dict(self.timings),
            **({"accounts": dict(self.accounts)} if self.accounts else {}),
            **({"interrupted": True} if self.interrupted else {}),
            **({"crossed": self.crossed} if self.order.thresholds else {}),
        }

    def text(self) -> str:
        """Return the result as text for a terminal: a line, and a second one with the accounts if they were kept."""
        if not self.accounts:
            return self.line()
        shown = [
            f"{self.accounts[name]:,} {name}"
            for name in sorted(self.accounts, key=SHOWN_ACCOUNTS.index)
            if name in SHOWN_ACCOUNTS[:ALWAYS_SHOWN] or self.accounts[name]
        ]
        return f"{self.line()}\naccounts: {', '.join(shown)}; handled by a handler that the run added"

    def line(self) -> str:
        """Return the result in one line."""
        errors = ", ".join(f"{count} × {kind}" for kind, count in self.errors.items())
        rate = self.timings["requests per second"]
        early = "interrupted: " if self.interrupted else ""
        return (
            f"{early}{counted(self.order.devices, 'device')} of {self.order.product}, "
            f"{_lasted(self.seconds)} of lab time in "
            f"{self.timings['real']:.1f} s: {counted(self.requests, 'request')} ({rate:,.0f} a second), "
            f"errors: {errors or 'none'}, {counted(len(self.failed), 'device')} failed; seed {self.seed}"
        )

    def problems(self, most: int = 10) -> list[str]:
        """Return a line for each failed device, up to `most`, and for each crossed threshold."""
        lines = [
            f"{each.identity} failed at {_when(each.time)}: {' '.join(each.error.split())}"
            for each in self.failed[:most]
        ]
        more = len(self.failed) - most
        return [*lines, *([f"… and {more} more"] if more > 0 else []), *self.crossed]


def _percentiles(latency: Latency) -> dict[str, float] | None:
    """Return percentiles in seconds; None without any values."""
    taken = latency.percentiles(list(PERCENTILES.values()))
    return dict(zip(PERCENTILES, taken, strict=True)) if latency.count else None


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _lasted(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
