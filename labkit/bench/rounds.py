"""Rounds of measurement that alternate between the lab and its reference."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from labkit.bench.control import BenchError, Child
from labkit.bench.measures import Calls, Result, Traffic

CONNECTIONS = 64
TOO_BUSY = 0.8  # CPU share of the load process above which it, not the server, may be the bottleneck


def measure(traffic: Traffic, rounds: int, seconds: float, progress: Callable[[str], object]) -> Result:
    """Measure traffic in alternating rounds of lab and reference, after a warm-up round."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        reference = stack.enter_context(Child("labkit.bench.server", "reference", core=0))
        lab = stack.enter_context(Child("labkit.bench.server", "lab", traffic.settings(Path(folder)), core=0))
        loads = {}
        for name, server in (("reference", reference), ("lab", lab)):
            loads[name] = stack.enter_context(Child("labkit.bench.load", core=1))
            loads[name].ask("connect", **server.ready, connections=CONNECTIONS, activate=name == "lab")
        if traffic.prepare:
            loads["lab"].ask(
                "hammer", method="POST", body=traffic.prepare, query="", seconds=0.2, expected=204
            )
        found: dict[str, list[tuple[float, float]]] = {"reference": [], "lab": []}
        void = 0
        for number in range(rounds + 1):  # the first is a warm-up
            for name, server in (("reference", reference), ("lab", lab)):
                before = server.ask("usage")["cpu"]
                load = loads[name].ask(
                    "hammer",
                    method=traffic.method,
                    body=traffic.body,
                    query=traffic.query,
                    seconds=seconds,
                    expected=traffic.status,
                )
                after = server.ask("settle" if name == "lab" else "usage")["cpu"]
                progress(f"{traffic.name}: {name}, round {number} of {rounds}")
                if load["busy"] > TOO_BUSY:
                    void += 1
                elif number:
                    micros = (after - before) / load["requests"] * 1e6
                    found[name].append((micros, load["requests"] / load["seconds"]))
    return summarize(traffic, found, rounds, void)


def summarize(
    traffic: Traffic, found: dict[str, list[tuple[float, float]]], rounds: int, void: int
) -> Result:
    """Return the medians of the valid rounds. Raises BenchError where lab or reference has none."""
    if not all(found.values()):
        raise BenchError(f"{traffic.name}: the load was too busy in every round, all are void")
    cost = {name: statistics.median(micros for micros, _ in each) for name, each in found.items()}
    rate = {name: statistics.median(rate for _, rate in each) for name, each in found.items()}
    details = {"requests_per_second": rate["lab"], "reference_requests_per_second": rate["reference"]}
    unit = "µs of server CPU a request"
    return Result.judge(
        *(traffic.name, traffic.title, unit, cost["lab"], cost["reference"], traffic.required, details),
        rounds=rounds,
        void=void,
    )


def measure_calls(
    calls: Calls, assignments: int, rounds: int, seconds: float, progress: Callable[[str], object]
) -> Result:
    """Measure calls in rounds that alternate between their variants, after a warm-up round.

    The variants share the seconds of a round.
    """
    found: dict[str, list[float]] = {}
    with Child("labkit.bench.calls", calls.name, str(assignments), core=0) as process:
        variants = process.ready["variants"]
        for number in range(rounds + 1):  # the first is a warm-up
            for variant in variants:
                played = process.ask("play", variant=variant, seconds=seconds / len(variants))
                progress(f"{calls.name}: {variant}, round {number} of {rounds}")
                if number:
                    found.setdefault(variant, []).append(played["micros"])
    return summarize_calls(calls, found, rounds)


def summarize_calls(calls: Calls, found: dict[str, list[float]], rounds: int) -> Result:
    """Return the medians of the rounds."""
    cost = {variant: statistics.median(micros) for variant, micros in found.items()}
    lab, baseline = cost.pop("lab"), cost.pop("baseline")
    details = {
        f"{calls.of[1]}_per_cpu_second": 1e6 / lab,
        **{f"{variant}_micros": micros for variant, micros in cost.items()},
    }
    if calls.beside:
        details[f"{calls.beside}_times"] = cost[calls.beside] / lab
    unit = f"µs of CPU a {calls.of[0]}"
    return Result.judge(calls.name, calls.title, unit, lab, baseline, calls.required, details, rounds=rounds)
