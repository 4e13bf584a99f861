"""The load process of a fleet: `python -m labkit.bench.fleet_load CORE`. Full devices, with accounts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import psutil

from labkit.bench.control import Answer, run_child, serve_commands
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.device import Credentials
from labkit.fleet.flow import LabAddress
from labkit.fleet.live import Live
from labkit.fleet.local_run import LocalFleetRun
from labkit.fleet.plan import Member, Plan
from labkit.fleet.shapes import Flat, Shape
from labkit.labtime.clock import Clock


class Counting(Behaviour):
    """Writes consecutive numbers, each as soon as the previous one is answered."""

    async def run(self, device: Any) -> None:
        while True:
            await device.count()


class Arriving(Behaviour):
    """Writes at the arrival times of the load."""

    async def run(self, device: Any) -> None:
        await device.activate()
        async for _ in device.arrivals():
            await device.write(text="hello", number=21.5)


class Waiting(Behaviour):
    """Waits for a value."""

    async def run(self, device: Any) -> None:
        await device.activate()
        await device.wait_for("text", timeout=300)


class Load:
    """Devices of one server."""

    def __init__(self) -> None:
        self._play: LocalFleetRun | None = None
        self._task: asyncio.Task[None] | None = None

    async def hammer(self, port: int, ca: str, domain: str, devices: int, seconds: float) -> Answer:
        """Let provisioned devices write without pause for some seconds, after all have connected."""
        play = await self._begin(port, ca, domain, Counting(), devices, tokens=True)
        begun = asyncio.Event()
        play.on_tick(lambda tick: begun.set() if tick.requests >= devices else None)
        await begun.wait()
        before, began, cpu = self._requests(play), time.perf_counter(), time.process_time()
        await asyncio.sleep(seconds)
        answer = {
            "requests": self._requests(play) - before,
            "cpu": time.process_time() - cpu,
            "seconds": time.perf_counter() - began,
            "failures": len(play.failures),
        }
        await self.end()
        return answer

    async def hold(self, port: int, ca: str, domain: str, devices: int, prefix: str) -> Answer:
        """Let each device wait for a value until `end`; the server knows when all polls have arrived."""
        await self._begin(port, ca, domain, Waiting(), devices, prefix=prefix)
        return {}

    async def memory(self) -> Answer:
        """Return the resident memory of this process in bytes."""
        return {"memory": psutil.Process().memory_info().rss}

    async def arrive(self, port: int, ca: str, domain: str, devices: int, rate: float) -> Answer:
        """Let devices write at an open rate, `rate` a second in total, until `end`."""
        await self._begin(port, ca, domain, Arriving(), devices, arrivals=Flat(rate / devices))
        return {}

    async def end(self) -> Answer:
        """Stop the devices and return their counts and latencies."""
        assert self._play is not None
        assert self._task is not None
        self._play.stop()
        await self._task
        total, failures = self._play.total, self._play.failures
        self._play = self._task = None
        p50, p99, most = total.latency.percentiles([50, 99, 100])
        errors = sum(total.errors.values())
        return {
            "requests": total.requests,
            "errors": errors,
            "failures": len(failures),
            "p50": p50,
            "p99": p99,
            "max": most,
        }

    async def _begin(
        self,
        port: int,
        ca: str,
        domain: str,
        behaviour: Behaviour,
        devices: int,
        *,
        prefix: str = "d",
        tokens: bool = False,
        arrivals: Shape | None = None,
    ) -> LocalFleetRun:
        members = [
            Member(number, f"{prefix}-{number}", behaviour, Credentials(f"{number:040x}" if tokens else None))
            for number in range(1, devices + 1)
        ]
        address = LabAddress("127.0.0.1", port, ca)
        plan = Plan("bench", address, domain, "token", 1, members, every=1.0, arrivals=arrivals)
        play = self._play = LocalFleetRun(plan, Live(Clock()))
        self._task = asyncio.get_running_loop().create_task(play.run(None))
        await asyncio.sleep(0)
        return play

    def _requests(self, play: LocalFleetRun) -> int:
        return play.accounts.totals()["acknowledged"]


async def serve() -> None:
    """Execute the commands of the benchmark until standard input ends."""
    load = Load()
    commands: dict[str, Callable[..., Awaitable[Answer]]] = {
        "hammer": load.hammer,
        "hold": load.hold,
        "memory": load.memory,
        "arrive": load.arrive,
        "end": load.end,
    }
    await serve_commands({}, commands)


if __name__ == "__main__":
    run_child(serve)
