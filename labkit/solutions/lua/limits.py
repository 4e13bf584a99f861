"""Limits on the resources of a solution's scripts."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LuaLimits:
    """Limits of a LuaHost. CPU seconds are real time, also in a lab with a virtual clock.

    cpu_seconds: between two service calls.
    cpu_total_seconds: of one run.
    cpu_setting: end of the text of their errors.
    runs: active at once, each in its own environment; further ones wait. A run for which another run waits
    is not counted, and never waits.
    memory_bytes: of one environment, beyond an empty one. A single text or table may not grow at once by
    more than a few times the memory in use, or 32 MiB.
    pattern_steps: of one match that might take the native matcher too long.
    coroutines: created by scripts, alive at once in an environment.
    value_bytes: of a value that is passed to or from Lua, or written as JSON.
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
    cpu_setting: str = " (guard.script_cpu)"
