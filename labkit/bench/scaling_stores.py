"""Operations whose cost is compared at two sizes: keys, timers, series and points."""

from __future__ import annotations

from labkit.bench.stage import Stage, page, scan, service


async def keys(stage: Stage) -> None:
    """Store keys, each with a short value."""
    for at in range(stage.size):
        await stage.call("Keystore", "set", key=f"key{at}", value="some")


ROWS = [
    page("Keystore.get", keys, service("Keystore.get", key="key150")),
    scan("Keystore.list, all", keys, service("Keystore.list", limit=10_000)),
]  # fmt: skip
