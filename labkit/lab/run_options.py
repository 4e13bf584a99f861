"""Options of a fleet's run, checked before the run begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, NamedTuple, Self, TypedDict, get_args

from labkit.control.clock import number_of
from labkit.core.errors import ArgumentError, LabError, unknown
from labkit.core.extras import check_installed
from labkit.core.keywords import Doc
from labkit.fleet.shapes import Shape
from labkit.lab.solution import Solution

INTERVALS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)  # seconds of lab time
SHORTEST = 0.001  # seconds of an interval: shorter ones are below the resolution of lab time
EVERY = f"expected seconds, at least {SHORTEST:g}"
TICKS = 300  # approximate number of intervals of a run
UNITS = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}


Transport = Literal["tls", "memory"]


class Spread(NamedTuple):
    """Dask workers that run a fleet.

    client: of their cluster; close: ends it; shares: number of partitions of the devices (None: one per worker).
    """

    client: Any
    close: Callable[[], object]
    shares: int | None


class RunKeywords(TypedDict, total=False):
    """The options of a run as keyword arguments, except `seconds`, which is positional."""

    minutes: float | None
    hours: float | None
    days: float | None
    every: float | None
    requests: bool
    devices: Shape | None
    arrivals: Shape | None
    accounts: bool | Solution
    workers: int | None
    cluster: object
    transport: Transport
    anew: bool | None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The arguments of `Fleet.start`. Raises LabError for a wrong one."""

    seconds: Annotated[
        float | None, Doc("lab time that the run lasts, in seconds; minutes, hours and days add to it")
    ] = None
    minutes: Annotated[float | None, Doc("more lab time, in minutes")] = None
    hours: Annotated[float | None, Doc("more lab time, in hours")] = None
    days: Annotated[float | None, Doc("more lab time, in days")] = None
    every: Annotated[float | None, Doc("seconds of lab time for which a row of the frame stands")] = None
    requests: Annotated[bool, Doc("whether to keep a row for each request")] = False
    devices: Annotated[Shape | None, Doc("number of devices online at a time")] = None
    arrivals: Annotated[
        Shape | None,
        Doc("rate a second of `device.arrivals()`, for which each device has to ask before it sends"),
    ] = None
    accounts: Annotated[
        bool | Solution,
        Doc(
            "whether to follow what devices `count()` to a handler of a solution (`run.losses`): True adds a "
            "solution for it, which does not measure your handlers; one of yours is measured by what its handler of "
            "`device datapoint` returns, the number that it has handled (in Lua `return data.value[2]`), or by its "
            "route GET /accounts, {identity: [number, …]}"
        ),
    ] = False
    workers: Annotated[int | None, Doc("number of processes on this machine that run the devices")] = None
    cluster: Annotated[
        object, Doc("dask client, cluster or address of a scheduler whose workers run the devices")
    ] = None
    transport: Annotated[
        Transport,
        Doc(
            "`tls`, or `memory`: without TLS, in about three quarters of the time; only on a virtual clock, and not "
            "for products with auth='certificate'"
        ),
    ] = "tls"
    anew: Annotated[
        bool | None,
        Doc(
            "whether devices start anew, in their next epoch; False: they go on from their last run, with its "
            "`memory`, notes, cursors of polls, error of the clock and chance, if that had `anew=False`, too; their "
            "behaviours begin again in any case. None: False in a story, True elsewhere"
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.lasting is not None and self.lasting <= 0:
            raise LabError(f"a run lasts more than 0 seconds, not {self.lasting:g}")
        if self.every is not None and number_of(self.every, "every", EVERY) < SHORTEST:
            raise LabError(f"every: {EVERY}, not {self.every!r}")
        if type(self.requests) is not bool:
            raise LabError(f"requests: expected True or False, not {self.requests!r:.100}")
        for name, shape in (("devices", self.devices), ("arrivals", self.arrivals)):
            if shape is not None and not isinstance(shape, Shape):
                raise LabError(f"{name}: expected a shape such as Flat(5), not {shape!r:.100}")
        if not isinstance(self.accounts, bool | Solution):
            raise LabError(
                f"accounts: expected True, False or a solution of the lab, not {self.accounts!r:.100}"
            )
        if self.anew is not None and type(self.anew) is not bool:
            raise LabError(f"anew: expected True or False, not {self.anew!r:.100}")
        if self.anew is False and self.spread:
            raise LabError("anew=False: devices on other processes start anew in each run; leave it out")
        if self.transport not in get_args(Transport):
            raise LabError(f"transport: expected 'tls' or 'memory', not {self.transport!r:.100}")
        self._check_workers()

    def _check_workers(self) -> None:
        if not self.spread:
            return
        if self.workers is not None and self.cluster is not None:
            raise LabError("give workers= (processes on this machine) or cluster=, not both")
        if self.cluster is None and (type(self.workers) is not int or self.workers < 1):
            raise LabError(f"workers: expected a number of processes, not {self.workers!r}")
        check_installed("lab", "fleets over several processes take", "distributed", "cloudpickle")

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """Return options from a mapping of arguments. Raises LabError for an unknown or wrong one."""
        known = [each.name for each in fields(cls)]
        for name in arguments:
            if name not in known:
                raise ArgumentError(unknown("argument", name, known))
        return cls(**arguments)

    @property
    def spread(self) -> bool:
        """Whether other processes run the devices."""
        return self.workers is not None or self.cluster is not None

    @property
    def lasting(self) -> float | None:
        """Length of the run in seconds of lab time; None if no time was given."""
        given = {"seconds": self.seconds, "minutes": self.minutes, "hours": self.hours, "days": self.days}
        times = [number_of(each, name) * UNITS[name] for name, each in given.items() if each is not None]
        return sum(times) if times else None

    def at_most(self, seconds: float | None) -> Self:
        """Return these options for a run of at most so many seconds of lab time, None for no limit."""
        if seconds is None or self.lasting is None or self.lasting <= seconds:
            return self
        return replace(self, seconds=seconds, minutes=None, hours=None, days=None)

    def check_clock(self, rate: float) -> None:
        """Raise LabError if these options do not fit a clock of this rate."""
        if rate:
            if self.transport == "memory":
                raise LabError("transport='memory': only on a virtual clock, as of Lab(seed=7)")
            return
        if self.spread:
            name = "workers" if self.cluster is None else "cluster"
            raise LabError(
                f"{name}=: on a virtual clock one device runs at a time, so that a seed gives the same run again; "
                f"other processes could only wait. Leave it out, or make the lab with speed=1"
            )
        if self.lasting is None:
            raise LabError("this clock stands still: pass a duration, as in run(days=1)")

    def interval(self, rate: float) -> float:
        """Return the length of an interval in seconds of lab time, on a clock of this rate."""
        if self.every is not None:
            return float(self.every)
        if self.lasting is None:
            return max(rate, 1.0)
        return max(interval(self.lasting), rate)


def interval(lasting: float) -> float:
    """Return an interval in seconds that divides a run of this length into about 300 or fewer."""
    return float(next((each for each in INTERVALS if lasting / each <= TICKS), INTERVALS[-1]))
