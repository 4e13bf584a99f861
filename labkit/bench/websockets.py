"""Thousands of open websockets over TLS: their memory, a message and its answer on each, a message to all."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from labkit.bench.control import Child
from labkit.bench.measures import Result
from labkit.bench.polls import check_descriptors

WEBSOCKETS = 2_000
TITLE = "open websockets over TLS, each asks a script and is answered, then one script sends to all"
CLIENTS = 2  # processes, so that neither the descriptors nor the core of a client limit the measurement
HOST, PATH = "bench.apps.lab.localhost", "/live"
PUSH = "to all"
SCRIPT = f"""--#ENDPOINT WEBSOCKET {PATH}
if websocketInfo.message == "{PUSH}" then
  for _, id in ipairs(Websocket.list()) do
    Websocket.send{{socket_id = id, server_ip = websocketInfo.server_ip, message = "{PUSH}"}}
  end
else
  return websocketInfo.message
end
"""
WARM = 50

MOST_MEMORY = 64.0  # KiB of server memory a websocket
MOST_WAIT = 0.05  # seconds to the 99th percentile of the answers


def measure(count: int, progress: Callable[[str], object]) -> Result:
    """Open `count` websockets. Value: KiB of server memory each; times, and CPU of an answer, in the details.

    Raises BenchError where the system does not allow a process that many descriptors.
    """
    check_descriptors(count)
    shares = [count // CLIENTS + (number < count % CLIENTS) for number in range(CLIENTS)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        server = stack.enter_context(Child("labkit.bench.server", "lab", _settings(folder), core=0))
        clients = [stack.enter_context(Child("labkit.bench.websocket_load", core=1)) for _ in range(CLIENTS)]
        there = {"port": server.ready["port"], "ca": server.ready["ca"], "host": HOST, "path": PATH}
        for client in clients:  # warm: imports, buffers, caches
            client.ask("open", **there, connections=WARM)
            client.ask("echo")
        before = server.ask("settle")["memory"]
        for client, share in zip(clients, shares, strict=True):
            progress(f"websockets: open {share}")
            client.ask("open", **there, connections=share)
        opened = server.ask("settle")
        progress(f"websockets: ask on {count}, one after the other")
        asked = [client.ask("echo") for client in clients]
        answered = server.ask("settle")
        progress(f"websockets: send to {count}")
        for client in clients:
            client.ask("expect")
        began = clients[0].ask("push", text=PUSH)["began"]
        pushed = [client.ask("pushed", text=PUSH) for client in clients]
    kib = (opened["memory"] - before) / count / 1024
    wrong = sum(each["wrong"] for each in [*asked, *pushed])
    p99 = max(each["p99"] for each in asked)
    return Result(
        "websockets",
        f"{count} {TITLE}",
        "KiB of server memory a websocket",
        kib,
        MOST_MEMORY,
        MOST_MEMORY / kib,
        1.0,
        kib <= MOST_MEMORY and wrong == 0 and p99 <= MOST_WAIT,
        1,
        0,
        {
            "wrong": wrong,
            "answer_cpu_us": (answered["cpu"] - opened["cpu"]) / (count + CLIENTS * WARM) * 1e6,
            "answer_p50_ms": max(each["p50"] for each in asked) * 1e3,
            "answer_p99_ms": p99 * 1e3,
            "all_last_s": max(each["last"] for each in pushed) - began,
        },
    )


def _settings(folder: Path) -> str:
    """Return the settings of a lab with the script."""
    (folder / "endpoints").mkdir()
    (folder / "endpoints" / "live.lua").write_text(SCRIPT)
    return json.dumps({"solutions": [{"id": "bench", "path": str(folder)}]})
