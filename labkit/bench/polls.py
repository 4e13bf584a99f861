"""Thousands of long polls, held over TLS and each woken by its own write."""

from __future__ import annotations

from collections.abc import Callable

from labkit.bench.control import Child
from labkit.bench.measures import Result

POLLS = 5000
TITLE = "long polls held over TLS, each woken by its own write"
MOST_MEMORY = 80.0  # KiB of server memory a poll


def take(polls: int, progress: Callable[[str], object]) -> Result:
    """Hold `polls` long polls and wake each. Value: KiB of server memory a poll; wake times in the details."""
    with (
        Child("labkit.bench.server", "lab", core=0) as server,
        Child("labkit.bench.load", core=1) as load,
    ):
        load.ask("connect", **server.ready, connections=16, activate=True)  # warm: imports, buffers, caches
        before = server.ask("usage")["memory"]
        progress(f"polls: open {polls} connections")
        load.ask("connect", **server.ready, connections=polls + 1, activate=True)
        progress(f"polls: hold {polls} polls")
        load.ask("poll")
        held = server.ask("held", polls=polls)["memory"]
        progress(f"polls: wake {polls} polls")
        woken = load.ask("wake")
    kib = (held - before) / polls / 1024
    return Result(
        "polls",
        f"{polls} {TITLE}",
        "KiB of server memory a poll",
        kib,
        MOST_MEMORY,
        MOST_MEMORY / kib,
        1.0,
        kib <= MOST_MEMORY and woken["wrong"] == 0,
        1,
        0,
        {"wrong": woken["wrong"], "wake_p50_ms": woken["p50"] * 1e3, "wake_p99_ms": woken["p99"] * 1e3},
    )
