"""Count of calls of Python and C functions per request: a cost that does not depend on the machine's speed.

One connection sends one request at a time, so that the count does not depend on which requests share an iteration of
the event loop. The result is the count for 2N requests less the count for N, divided by N, so that calls which do not
belong to requests cancel out. It repeats within 0.1 % on one version of Python. It does not show the cost of caches,
memory and the kernel: the ratios of the other measures stay the measure of speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from labkit.bench import websockets
from labkit.bench.control import BenchError, Child
from labkit.bench.handlers import DOMAIN
from labkit.bench.measures import TRAFFIC, Traffic

REQUESTS = 60  # 300 give the same counts
DEVICES = 32
WRITES = 12  # of each device; the counts of simulated writes depend on it
WARM_UP = 100  # requests
SERIES = 3  # of which the least count is taken: on a busy machine requests arrive in pieces
SCRIPT = 0.003  # seconds between two requests that start a script, so that it has run before the next request
QUIET_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONPROFILEIMPORTTIME": "", "COVERAGE_PROCESS_START": ""}


@dataclass(frozen=True, slots=True)
class CallCount:
    """Number of calls of Python functions and of C functions per request."""

    name: str
    title: str
    python: float
    c: float

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain data, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.name:16} {self.python:7.1f} Python calls {self.c:7.1f} C calls  {self.title}"


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests whose calls are counted.

    traffic: to a server, `bare` to the reference; else `simulated` writes, or messages of a websocket. plays: number of
    short ones, of which the least counts: the lab asks about a program that other load holds up.
    """

    name: str
    title: str
    traffic: Traffic | None = None
    bare: bool = False
    simulated: str = ""
    plays: int = 0


_TRAFFIC = {each.name: each for each in TRAFFIC}
WORKLOADS = {
    workload.name: workload
    for workload in (
        *(
            Workload(f"bare-{name}", f"{name} at a bare aiohttp handler", _TRAFFIC[name], bare=True)
            for name in ("write", "read")
        ),
        *(Workload(each.name, each.title, each) for each in TRAFFIC),
        Workload("bare-websocket", "message of a websocket at a bare aiohttp handler, sent back", bare=True),
        Workload("websocket", "message of a websocket, answered by a script"),
        Workload("simulated-write", "write of a simulated device", simulated="write"),
        Workload("simulated-lua", "write of a simulated device, counted in Lua", simulated="lua"),
        Workload("empty-play", "play of a story that does nothing", simulated="play", plays=5),
        Workload(
            "firmware-turn",
            "turn of a program that wakes and sends nothing",
            simulated="firmware-turn",
            plays=100,
        ),
    )
}


def measure(names: Sequence[str], progress: Callable[[str], object]) -> Iterator[CallCount]:
    """Count calls per request, each workload in a process of its own. names: all workloads if empty.

    Raises BenchError for an unknown name.
    """
    unknown = [name for name in names if name not in WORKLOADS]
    if unknown:
        raise BenchError(f"no workload {unknown[0]!r} to count, there are: {', '.join(WORKLOADS)}")
    for name in names or WORKLOADS:
        progress(f"{name}: calls")
        workload = WORKLOADS[name]
        if workload.traffic is not None:
            few, many, requests = _of_server(workload, workload.traffic)
        elif workload.simulated:
            few, many, requests = _of_fleet(workload.simulated, workload.plays)
        else:
            few, many, requests = _of_websocket(workload.bare)
        counts = {kind: (many[kind] - few[kind]) / requests for kind in ("python", "c")}
        yield CallCount(name, workload.title, **counts)


def _of_server(workload: Workload, traffic: Traffic) -> tuple[dict[str, int], dict[str, int], int]:
    """Return the counts of N and of 2N requests, and N."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        kind = ("reference",) if workload.bare else ("lab", traffic.settings(folder))
        server = stack.enter_context(
            Child("labkit.bench.server", *kind, core=0, environment=QUIET_ENVIRONMENT)
        )
        load = stack.enter_context(Child("labkit.bench.load", core=1))
        load.ask("connect", **server.ready, connections=1, activate=not workload.bare)
        settle = "usage" if workload.bare else "settle"

        def play(count: int, **more: Any) -> None:
            asked = {"body": traffic.body, "query": traffic.query, "expected": traffic.status, **more}
            pause = SCRIPT if traffic.lua else 0.0
            load.ask("series", **{"method": traffic.method, "count": count, "pause": pause, **asked})
            server.ask(settle)

        if traffic.prepare and not workload.bare:
            play(1, method="POST", body=traffic.prepare, query="", expected=204)

        def counted(count: int) -> dict[str, int]:
            server.ask("count")
            play(count)
            return server.ask("counted")

        play(WARM_UP)
        return _least(counted, REQUESTS), _least(counted, 2 * REQUESTS), REQUESTS


def _of_websocket(bare: bool) -> tuple[dict[str, int], dict[str, int], int]:
    """Return the counts of N and of 2N messages of one websocket that are answered, and N."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        kind = ("reference",) if bare else ("lab", websockets.settings(folder))
        server = stack.enter_context(
            Child("labkit.bench.server", *kind, core=0, environment=QUIET_ENVIRONMENT)
        )
        client = stack.enter_context(Child("labkit.bench.websocket_load", core=1))
        there = {"port": server.ready["port"], "ca": server.ready["ca"], "path": websockets.PATH}
        client.ask("open", **there, host=DOMAIN if bare else websockets.HOST, connections=1)
        client.ask("echo", times=WARM_UP)

        def counted(count: int) -> dict[str, int]:
            server.ask("usage" if bare else "settle")
            server.ask("count")
            client.ask("echo", times=count)
            return server.ask("counted")

        return _least(counted, REQUESTS), _least(counted, 2 * REQUESTS), REQUESTS


def _least(counted: Callable[[int], dict[str, int]], count: int) -> dict[str, int]:
    """Return the least calls of several series of so many requests."""
    found = [counted(count) for _ in range(SERIES)]
    return {kind: min(each[kind] for each in found) for kind in ("python", "c")}


def _of_fleet(kind: str, plays: int) -> tuple[dict[str, int], dict[str, int], int]:
    """Return the counts of about N and of about 2N simulated writes, and the difference of the numbers of writes."""
    writes = DEVICES if plays else DEVICES * WRITES
    with Child(
        "labkit.bench.simulated",
        kind,
        str(DEVICES),
        core=0,
        environment={**QUIET_ENVIRONMENT, "COUNT_CALLS": "1"},
    ) as process:
        process.ask("play", writes=writes)
        few, many = (
            min(
                (process.ask("play", writes=count) for _ in range(plays or 1)),
                key=lambda each: int(each["python"]),
            )
            for count in (writes, 2 * writes)
        )
    return few, many, many["writes"] - few["writes"]
