"""The process that simulates a fleet: `python -m labkit.bench.simulated CORE KIND DEVICES [RECORDS]`.

KIND is write, lua, a program (firmware.py), or play: of a story that does nothing, in a lab of its own. RECORDS is the
capacity of the journal. With the environment variable COUNT_CALLS=1 each run also returns its calls of Python and of C
functions, and takes several times as long.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from labkit.bench.call_counter import CallCounter
from labkit.bench.control import prepare
from labkit.bench.firmware import NAMES, ping_pong, program
from labkit.bench.measures import COUNT
from labkit.core.process import serve_for_long
from labkit.fleet.behaviour import Behaviour
from labkit.lab.lab import Lab

EVERY = 300  # seconds between two writes of a device
RESOURCES = {"text": "string", "number": "number"}
RECORDS = 20_000
POINTS = {"kept": 100}
_NUMBERS = itertools.count()  # values written, in all devices
Live = Callable[[float], dict[str, float]]


class Reporting(Behaviour):
    """Writes at a fixed interval.

    number: whether it writes two aliases with the same values each time, as in the measure `write`; else one with a
    new value each time, as in `write-lua`.
    """

    number: bool = True

    async def run(self, device: Any) -> None:
        while True:
            values = {"text": "hello", "number": 21.5} if self.number else {"text": f"{next(_NUMBERS):05}"}
            await device.write(**values)
            await device.sleep(EVERY)


def main() -> None:
    """Simulate the fleet on command, until standard input ends."""
    core, kind, devices, *more = sys.argv[1:]
    journal = {"records": int(more[0]) if more else RECORDS}
    prepare(int(core))
    serve_for_long()
    counter = CallCounter() if os.environ.get("COUNT_CALLS") else None
    if counter is not None:
        threading.setprofile(counter.profile)  # before the lab starts its thread
        if kind == "play":  # whose thread does a part of the work
            sys.setprofile(counter.profile)
    with tempfile.TemporaryDirectory() as folder, Lab(seed=7, journal=journal, datapoints=POINTS) as lab:
        if kind in NAMES:
            live = program(lab, kind, Path(folder))
        else:
            live = _plays if kind == "play" else _fleet(lab, kind, int(devices), folder)
        _say({})
        while line := sys.stdin.readline():
            command = json.loads(line)
            try:
                if command["do"] == "least":
                    _say({"micros": ping_pong(command["seconds"])})
                else:
                    _say(_play(live, EVERY * -(-command["writes"] // int(devices)), counter))
            except Exception as error:  # noqa: BLE001  reported to the parent process
                _say({"error": f"{type(error).__name__}: {error}"})


def _fleet(lab: Lab, kind: str, devices: int, folder: str) -> Live:
    """Return a function that simulates the fleet for some seconds of lab time."""
    product = lab.product("bench", resources=RESOURCES)
    if kind == "lua":
        services = Path(folder) / "services"
        services.mkdir()
        (services / "count.lua").write_text("--#EVENT device datapoint\n" + COUNT)
        lab.solution("count", products=[product], path=folder)
    fleet = product.fleet(devices, Reporting(number=kind == "write"))

    def live(seconds: float) -> dict[str, float]:
        run = fleet.run(seconds=seconds)
        if run.latency.count * EVERY < seconds * devices or len(run.failures):
            raise RuntimeError(f"expected writes of {seconds} seconds, got: {run.summary}")
        return {"writes": run.latency.count}

    return live


def _plays(seconds: float) -> dict[str, float]:
    """Play a story that does nothing, once for each write that a device would have made."""
    from labkit.hunt import story
    from labkit.hunt.plays.future import PlayPlan, play_future
    from labkit.hunt.plays.given import GivenValues

    plan, count = PlayPlan(story(lambda lab, draw: None)), int(seconds // EVERY)
    for seed in range(count):
        play_future(plan, seed, GivenValues(()))
    return {"writes": count}


def _play(live: Live, seconds: float, counter: CallCounter | None) -> dict[str, float]:
    """Let seconds of lab time pass; return CPU seconds of the whole process, and its resident memory in bytes."""
    began, cpu = time.perf_counter(), time.process_time()
    if counter is not None:
        counter.start()
    played = live(seconds)
    counts = {} if counter is None else counter.stop()
    return {
        **played,
        "cpu": time.process_time() - cpu,
        "seconds": time.perf_counter() - began,
        "memory": psutil.Process().memory_info().rss,
        **counts,
    }


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
