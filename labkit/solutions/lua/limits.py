"""What the scripts of one solution may use."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LuaLimits:
    """Limits of a LuaHost. CPU is guard time: always real.

    cpu_seconds: between two service calls.
    cpu_total_seconds: of one run.
    runs: under way at once, each in an environment of its own; more of them wait. One that another run waits for
    is not counted, and never waits.
    memory_bytes: all that one environment holds, beyond an empty one. A single text or table may not grow by
    more than a few times of what is held, or 32 MiB, at once.
    pattern_steps: of one match that the native matcher might not end soon.
    coroutines: of the scripts' own, alive at once in an environment.
    value_bytes: of a value that crosses, or becomes JSON.
    log_bytes: of one line of print or log; the rest is cut off.
    """

    cpu_seconds: float = 2.0
    cpu_total_seconds: float = 10.0
    runs: int = 64
    memory_bytes: int = 64 * MIB
    pattern_steps: int = 1_000_000
    coroutines: int = 10_000
    value_bytes: int = 8 * MIB
    log_bytes: int = 64 * 1024
