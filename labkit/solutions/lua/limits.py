"""What the scripts of one solution may use."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LuaLimits:
    """Limits of a LuaHost; CPU is guard time, always real.

    cpu_seconds: CPU between two service calls; cpu_total_seconds: CPU of one run. memory_bytes: all that the
    solution's scripts hold, beyond an empty runtime; one `..` or table may grow by 2 to 8 MiB at once.
    pattern_steps: one match that the native matcher might not end soon. coroutines: alive at once, of the
    scripts' own. depth, value_bytes: of a value that crosses or becomes JSON. log_bytes: of one line of print
    or log; the rest is cut off.
    """

    cpu_seconds: float = 0.2
    cpu_total_seconds: float = 10.0
    memory_bytes: int = 64 * MIB
    pattern_steps: int = 1_000_000
    coroutines: int = 10_000
    value_bytes: int = 8 * MIB
    log_bytes: int = 64 * 1024
