"""Thousands of long polls over TLS from two client processes: woken by single writes, then all by a script."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from labkit.bench.control import Answer, BenchError, Child
from labkit.bench.measures import Result
from labkit.core.words import counted

POLLS = 10_000
TITLE = "long polls held over TLS, each woken by its own write, then all by one script"
CLIENTS = 2  # processes, so that neither the descriptors nor the core of a client limit the measurement
WRITERS = 1  # connections of each client that do not poll
HOST = "bench.apps.lab.localhost"
SCRIPT = """--#ENDPOINT POST /wake
for number, identity in ipairs(request.body) do
  local result = Device2.setIdentityState({identity = identity, text = number})
  if result.error then
    response.code = result.status
    return result
  end
end
"""
SPARE = 200  # further descriptors that a process needs

MOST_MEMORY = 50.0  # KiB of server memory a poll
FEW = 50  # polls of a client
MOST_TIMES = 1.5  # the server's CPU to wake one of all polls, over that to wake one of a few


def measure(polls: int, progress: Callable[[str], object]) -> Result:
    """Open `polls` long polls and wake each. Value: KiB of server memory a poll; times and CPU in the details.

    Required are also right answers, and a wake that costs about as much among all polls as among a few. Raises
    BenchError where the system does not allow a process that many descriptors.
    """
    check_descriptors(polls)
    shares = [polls // CLIENTS + (number < polls % CLIENTS) for number in range(min(CLIENTS, polls))]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(Child("labkit.bench.server", "lab", _settings(folder), core=0))
        clients = [stack.enter_context(Child("labkit.bench.load", core=1)) for _ in shares]

        def connect(name: str, shares: list[int]) -> None:
            for number, (client, share) in enumerate(zip(clients, shares, strict=True)):
                progress(f"polls: open {share} connections")
                asked = {"connections": share + WRITERS, "activate": True, "prefix": f"{name}-{number}"}
                client.ask("connect", **server.ready, **asked)

        def wake(polls: int) -> tuple[Answer, float, list[Answer]]:
            """Hold and wake each poll; return the server's usage before, its CPU seconds for one, and the answers."""
            _hold(server, clients, polls, progress)
            held = server.ask("usage")
            progress(f"polls: wake {counted(polls, 'poll')}, one after the other")
            woken = [client.ask("wake") for client in clients]
            return held, (server.ask("usage")["cpu"] - held["cpu"]) / polls, woken

        connect("few", [FEW for _ in shares])
        wake(FEW * len(shares))  # warm: imports, buffers, caches
        before, among_few, _ = wake(FEW * len(shares))
        connect("poll", shares)
        held, among_all, each = wake(polls)
        identities = _hold(server, clients, polls, progress)
        progress(f"polls: wake {counted(polls, 'poll')} by a script")
        wrote = clients[0].ask("script", host=HOST, path="/wake", body=json.dumps(identities))
        woken = [client.ask("woken", first=sum(shares[:number])) for number, client in enumerate(clients)]
    kib = (held["memory"] - before["memory"]) / polls / 1024
    wrong = sum(answer["wrong"] for answer in [*each, *woken]) + (wrote["status"] != 200)
    details = {
        "wrong": wrong,
        "wake_cpu_us": among_all * 1e6,
        "wake_times": among_all / among_few,
        "wake_p50_ms": max(answer["p50"] for answer in each) * 1e3,
        "wake_p99_ms": max(answer["p99"] for answer in each) * 1e3,
        "all_last_s": max(answer["last"] for answer in woken) - wrote["began"],
        "all_set_s": wrote["seconds"],
    }
    holds = not wrong and details["wake_times"] <= MOST_TIMES
    unit = "KiB of server memory a poll"
    return Result.judge("polls", f"{polls} {TITLE}", unit, kib, MOST_MEMORY, 1.0, details, holds=holds)


def _hold(
    server: Child, clients: Sequence[Child], polls: int, progress: Callable[[str], object]
) -> list[str]:
    """Start the polls of all clients and return the identities of their devices."""
    progress(f"polls: hold {counted(polls, 'poll')}")
    identities = [each for client in clients for each in client.ask("poll", writers=WRITERS)["identities"]]
    server.ask("wait_for_polls", polls=polls)
    return identities


def _settings(folder: Path) -> str:
    """Return the settings of a lab with the script, and a keep-alive that outlasts the setup on a slow machine."""
    (folder / "endpoints").mkdir()
    (folder / "endpoints" / "wake.lua").write_text(SCRIPT)
    solution = {"id": "bench", "products": ["bench"], "path": str(folder)}
    return json.dumps({"guard": {"keep_alive": 3600.0}, "solutions": [solution]})


def check_descriptors(connections: int) -> None:
    """Raise BenchError where the system does not allow one process, as the server is, that many connections."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and connections + SPARE > most:
        raise BenchError(
            f"{connections} connections take {connections + SPARE} descriptors in the server's process, and this "
            f"system lets one have {most}: raise the hard limit (`ulimit -Hn` in the shell, LimitNOFILE= of a "
            f"systemd unit, nofile in /etc/security/limits.conf), or ask for fewer"
        )
