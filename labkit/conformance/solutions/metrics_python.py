"""The solution in metrics/, written in Python: `register(lab.solution("acme", products=[thermostat]))`."""

import math
from collections.abc import Callable
from typing import Any


async def datapoint(data: dict[str, Any], services: Any, now: Callable[[], float]) -> None:
    """Each value that a device writes: one more message today, and the newest of the last ten."""
    midnight = math.floor(1 + now() / 86400) * 86400

    await services.Keystore.command(key="dailyCount", command="incrby", args=[1])
    await services.Keystore.command(key="dailyCount", command="expireat", args=[midnight])
    await services.Keystore.command(key="logs", command="lpush", args=[data["value"][1]])
    await services.Keystore.command(key="logs", command="ltrim", args=[0, 9])


async def metrics(services: Any) -> dict[str, Any]:
    """How many messages came today (UTC), and the last ten, newest first."""
    count = await services.Keystore.get(key="dailyCount")
    logs = await services.Keystore.command(key="logs", command="lrange", args=[0, -1])

    return {"dailyCount": count.get("value", "0"), "logs": logs["value"]}


def register(solution: Any) -> None:
    """Make a solution count, and show its metrics."""
    solution.on("device", "datapoint", datapoint)
    solution.route("GET", "/metrics", metrics)
