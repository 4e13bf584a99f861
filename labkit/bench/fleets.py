"""Measures of fleets: load of one core, simulated writes, memory of waiting devices, growth, and a soak."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from labkit.bench.control import Answer, BenchError, Child
from labkit.bench.firmware import expect_possible
from labkit.bench.handlers import handlers
from labkit.bench.measures import TWO, Result
from labkit.core.progress import PERIOD, wait

Progress = Callable[[str], object]

DEVICES = 64  # devices of a load
HANDLERS = (1, 2)  # cores of the bare servers; the load has core 0
REPORTING = 32  # devices of a simulation
TIMES = 4.0  # required requests per CPU second, as a multiple of Locust's FastHttpUser
WAITING, MOST_WAITING = 2000, 60.0  # devices; maximum KiB of the client's memory for each
SIMULATED = REPORTING * 288  # writes of a round, and of a warm-up: a day of a write every five minutes
GROWTH = (10_000, 25_000, 50_000, 100_000)  # writes, few enough for daily use
GROWING = 200  # devices that make these writes
WHOLE_GROWTH = (10_000, 100_000, 300_000, 1_000_000)
FLAT = 0.8  # required ratio to the speed and the memory of the smallest size
MINUTES = 10.0  # duration of the soak
SOAK_RATE = 0.5  # fraction of the server's capacity
SOUNDING = 3.0  # seconds in which that capacity is measured
LIMITS = {"journal": {"records": 20_000}, "datapoints": {"kept": 100}}  # so that they are reached soon


@dataclass(frozen=True, slots=True)
class Simulated:
    """Simulation of a day, or of a program's three hours. A write, request or turn costs at most `most` references.

    body: of the bare handler's requests; empty for a message to another process as the reference.
    """

    title: str
    most: float
    body: str = TWO
    of: str = "request"


BARE = "beside: request of the bare handler"
DAY = f"a write and two long polls a minute, the lab's part with all turns, {BARE}"
WRITES = f"simulated write of two aliases, all of the process, {BARE}"
LUA = f"simulated write of one alias that Lua counts, {BARE}"
TURN = "turn of a program that wakes and sends nothing, beside: message to another process and its answer"
SIMULATIONS = {
    "simulated-write": Simulated(WRITES, 3.5, of="write"),
    "simulated-lua": Simulated(LUA, 9.0, "text=hello", "write"),
    "firmware-c": Simulated(f"request of a program in C with libcurl, {DAY}", 20.0),
    "firmware-python": Simulated(f"request of a program in Python with requests, {DAY}", 20.0),
    "firmware-turn": Simulated(TURN, 5.5, "", "turn"),
}

TITLES = {
    "fleet": "requests that one core of fleet devices sends, with state and accounts, beside: Locust's FastHttpUser",
    **{name: each.title for name, each in SIMULATIONS.items()},
    "fleet-memory": "devices that wait with TLS, in the client's process",
    "growth": "simulated writes at four sizes, the largest beside: the smallest",
    "soak": "an open load at half of what the lab takes, its memory at the end beside: after a fifth of the time",
}


def load(rounds: int, seconds: float, progress: Progress) -> Result:
    """Measure requests per CPU second of a load process, ours and Locust's in turn, against the same bare servers.

    There are enough servers for the load's core to be the bottleneck; on a machine of two cores one of them
    shares it, so only the CPU time of the load counts.
    """
    ours: list[Answer] = []
    theirs: list[Answer] = []
    with ExitStack() as stack:
        ready = stack.enter_context(handlers(HANDLERS))
        fleet = stack.enter_context(Child("labkit.bench.fleet_load", core=0))
        locust = stack.enter_context(Child("labkit.bench.locust_load", core=0))
        at = {"port": ready["port"], "domain": ready["domain"]}
        for number in range(rounds + 1):  # the first is a warm-up
            played = fleet.ask("hammer", **ready, devices=DEVICES, seconds=seconds)
            beside = locust.ask("hammer", **at, users=DEVICES, seconds=seconds)
            if played["failures"] or beside["failures"]:
                raise BenchError(f"fleet: requests failed: {played}, {beside}")
            progress(f"fleet: round {number} of {rounds}")
            if number:
                ours.append(played)
                theirs.append(beside)
    value, reference = _median(ours, "cpu"), _median(theirs, "cpu")
    ratio = statistics.median(
        (each["requests"] / each["cpu"]) / (beside["requests"] / beside["cpu"])
        for each, beside in zip(ours, theirs, strict=True)
    )
    details = {
        "requests_per_second": _median(ours, "seconds"),
        "reference_requests_per_second": _median(theirs, "seconds"),
    }
    unit = "requests a CPU second of the load"
    return Result.judge(
        "fleet", TITLES["fleet"], unit, value, reference, TIMES, details, ratio=ratio, rounds=rounds
    )


def _median(rounds: Sequence[Answer], of: str) -> float:
    """Return the median rate of requests per second of the field `of`."""
    rates: list[float] = [each["requests"] / each[of] for each in rounds]
    return statistics.median(rates)


def simulated(name: str, rounds: int, seconds: float, progress: Progress) -> Result:
    """Measure the CPU time of the whole process for a simulated write, or of a program's request or turn.

    The reference is measured before and after each run, and the ratio is the median over the rounds: a machine
    whose speed changes from minute to minute changes both sides of each. Raises BenchError where a program cannot run.
    """
    what = SIMULATIONS[name]
    expect_possible(name)
    writes = SIMULATED // 8 if what.of == "request" else SIMULATED
    costs: list[float] = []
    bare: list[float] = []
    played: Answer = {}
    with ExitStack() as stack:
        kind = name.removeprefix("simulated-")
        process = stack.enter_context(Child("labkit.bench.simulated", kind, str(REPORTING), core=0))
        least = (
            stack.enter_context(_handler(what.body, seconds / 2))
            if what.body
            else lambda: float(process.ask("least", seconds=seconds / 10)["micros"])
        )
        for number in range(rounds + 1):  # the first is a warm-up
            beside = [least()]
            played = process.ask("play", writes=writes)
            beside.append(least())
            progress(f"{name}: round {number} of {rounds}")
            if number:
                bare.append(statistics.mean(beside))
                costs.append(played["cpu"] / played["writes"] * 1e6)
    times = statistics.median(cost / beside for cost, beside in zip(costs, bare, strict=True))
    value, reference = statistics.median(costs), statistics.median(bare)
    details = {"times": times, f"{what.of}s_per_cpu_second": 1e6 / value}
    if "turns" in played:
        details["turns_each"] = played["turns"] / played["writes"]
    unit = f"µs of CPU a {what.of}"
    return Result.judge(
        name, what.title, unit, value, reference, 1 / what.most, details, ratio=1 / times, rounds=rounds
    )


@contextmanager
def _handler(body: str, seconds: float) -> Iterator[Callable[[], float]]:
    """Yield a function that measures CPU microseconds of a request of the bare handler."""
    with (
        Child("labkit.bench.server", "reference", core=0) as server,
        Child("labkit.bench.load", core=1) as client,
    ):
        client.ask("connect", **server.ready, connections=DEVICES, activate=False)

        def request() -> float:
            before = server.ask("usage")["cpu"]
            sent = client.ask("hammer", method="POST", body=body, query="", seconds=seconds, expected=204)
            micros: float = (server.ask("usage")["cpu"] - before) / sent["requests"] * 1e6
            return micros

        yield request


def memory(progress: Progress, devices: int) -> Result:
    """Measure KiB of the client's process for a device that waits for a value, with TLS."""
    with (
        Child("labkit.bench.server", "lab", json.dumps({"guard": {"keep_alive": 3600.0}}), core=1) as server,
        Child("labkit.bench.fleet_load", core=0) as fleet,
    ):
        fleet.ask("hold", **server.ready, devices=32, prefix="warm")  # imports, caches
        server.ask("wait_for_polls", polls=32)
        fleet.ask("end")
        before = fleet.ask("memory")["memory"]
        progress(f"fleet-memory: {devices} devices")
        fleet.ask("hold", **server.ready, devices=devices, prefix="d")
        server.ask("wait_for_polls", polls=devices)
        kib = (fleet.ask("memory")["memory"] - before) / devices / 1024
    title = f"{devices} {TITLES['fleet-memory']}"
    unit = "KiB of memory a device"
    return Result.judge("fleet-memory", title, unit, kib, MOST_WAITING)


def growth(progress: Progress, whole: bool) -> Result:
    """Measure CPU time for a write, and memory, at four sizes, each in a fresh process.

    Required: the last write costs as much as the first.
    """
    found = {}
    for size in WHOLE_GROWTH if whole else GROWTH:
        with Child("labkit.bench.simulated", "write", str(GROWING), core=0) as process:
            process.ask("play", writes=SIMULATED)  # warm
            found[size] = process.ask("play", writes=size)
        progress(f"growth: {size:,} writes")
    micros = {size: each["cpu"] / each["writes"] * 1e6 for size, each in found.items()}
    mebibytes = {size: each["memory"] / 2**20 for size, each in found.items()}
    first, last = min(found), max(found)
    details = {f"micros_{size}": value for size, value in micros.items()}
    details |= {f"mebibytes_{size}": value for size, value in mebibytes.items()}
    flat = mebibytes[first] / mebibytes[last] >= FLAT
    title, unit = f"{last:,} {TITLES['growth']}", "µs of CPU a write"
    return Result.judge("growth", title, unit, micros[last], micros[first], FLAT, details, holds=flat)


def _has_passed(moment: float, seconds: float | None) -> bool:
    time.sleep(max(0.0, min(moment - time.monotonic(), seconds or PERIOD)))
    return time.monotonic() >= moment


def soak(minutes: float, progress: Progress) -> Result:
    """Measure the lab's memory under an open load at half of its capacity, with limits of datapoints and journal."""
    with (
        Child("labkit.bench.server", "lab", json.dumps(LIMITS), core=0) as server,
        Child("labkit.bench.load", core=1) as wires,
        Child("labkit.bench.fleet_load", core=1) as fleet,
    ):
        wires.ask("connect", **server.ready, connections=DEVICES, activate=True)
        most = wires.ask("hammer", method="POST", body=TWO, query="", seconds=SOUNDING, expected=204)
        server.ask("settle")
        rate = most["requests"] / most["seconds"] * SOAK_RATE
        fleet.ask("arrive", **server.ready, devices=DEVICES, rate=rate)
        until, sampled = time.monotonic() + minutes * 60, []
        while (left := until - time.monotonic()) > 0:
            wait(partial(_has_passed, time.monotonic() + min(left, max(minutes * 60 / 50, 0.1))))
            sampled.append(server.ask("usage")["memory"] / 2**20)
            progress(f"soak: {sampled[-1]:.0f} MiB")
        did = fleet.ask("end")
    early, late = statistics.median(sampled[len(sampled) // 5 :][:5]), statistics.median(sampled[-5:])
    details = {
        "requests": did["requests"],
        "errors": did["errors"] + did["failures"],
        "requests_per_second": did["requests"] / (minutes * 60),
        "p50_ms": did["p50"] * 1e3,
        "p99_ms": did["p99"] * 1e3,
    }
    title = f"{minutes:g} minutes of {TITLES['soak']}"
    fine = not details["errors"]
    return Result.judge("soak", title, "MiB of server memory", late, early, 0.95, details, holds=fine)
