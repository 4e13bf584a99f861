"""Labs on demand: CPU, time and memory of labs from one template, beside a lab whose platform starts anew."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from labkit.bench.control import BenchError
from labkit.bench.measures import Result
from labkit.control.labs import StartedLab
from labkit.core.extras import needs
from labkit.core.host_time import perf_counter
from labkit.ondemand.labs import FORKS, OnDemandLabs
from labkit.platform import Platform
from labkit.settings import LabSettings, ProductSettings

NAME = "labs"
TITLE = (
    "lab on demand from a template to its first HTTPS answer, beside one whose platform starts anew; ms until the "
    "answer, private MB, and how many fit in 8 GiB"
)
LABS = 50
REQUIRED = 1.5
PRIVATE = 12.0  # most MB of a lab
ROOM = 8 * 2**30
HOST = "bench.localhost"
IS_POSSIBLE = FORKS


def measure(progress: Callable[[str], object]) -> Result:
    """Measure labs that run side by side. Raises BenchError where the system cannot fork."""
    if not IS_POSSIBLE:
        raise BenchError(f"{NAME}: on this system each lab on demand is a process of its own")
    with TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder) / "ca.pem", progress))


async def _measure(ca_file: Path, progress: Callable[[str], object]) -> Result:
    settings = LabSettings(https_port=0, products=(ProductSettings(id="bench", domain=HOST),))
    async with (
        Platform(settings, seed=7) as platform,
        aclosing(OnDemandLabs(platform, LABS + 2, ca_file, None)) as labs,
    ):
        trusted = ssl.create_default_context(cadata=platform.context.address.ca_pem)
        await _first_answer(labs, 1, trusted)  # once the server of templates is ready
        progress(f"{NAME}: the first lab with another seed")
        before = _cpu()
        anew = await _first_answer(labs, 2, trusted)
        started = _cpu()
        times = []
        for number in range(LABS):
            progress(f"{NAME}: lab {number + 1} of {LABS}")
            times.append(await _first_answer(labs, 2, trusted))
        cpu = (_cpu() - started) / LABS
        private = median(each.memory_full_info().uss for each in _processes()[-LABS:])
    return Result.judge(
        *(NAME, TITLE, "ms of CPU", 1000 * cpu, 1000 * (started - before), REQUIRED),
        {
            "answer_ms": 1000 * median(times),
            "answer_p90_ms": 1000 * quantiles(times, n=10)[-1],
            "new_settings_ms": 1000 * anew,
            "private_mb": private / 1e6,
            "fit_in_8_gib": ROOM // private,
        },
        holds=private <= PRIVATE * 1e6,
        rounds=LABS,
    )


async def _first_answer(labs: OnDemandLabs, seed: int, trusted: ssl.SSLContext) -> float:
    """Start a lab, and return the seconds until it has answered a request by HTTPS."""
    began = perf_counter()
    lab: StartedLab = await labs.start(LabSettings(), seed, None, "")
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", lab.https_port, ssl=trusted, server_hostname=HOST
    )
    writer.write(f"GET /timestamp HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
    if not (line := await reader.readline()).startswith(b"HTTP/1.1 200 "):
        raise BenchError(f"a lab on demand answered {line!r}")
    seconds = perf_counter() - began
    writer.close()
    return seconds


def _cpu() -> float:
    """Return the CPU seconds of all processes that descend from this one."""
    # The system's clock of another process (clock_getcpuclockid): /proc counts in steps of 10 ms.
    return sum(time.clock_gettime(~each.pid << 3 | 2) for each in _processes())


def _processes() -> list[Any]:
    """Return these processes in the order of their starts."""
    with needs("bench"):
        from psutil import Process

    return sorted(Process().children(recursive=True), key=lambda each: (each.create_time(), each.pid))
