"""Thousands of open websockets over TLS: their memory, a message and its answer on each, a message to all."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from labkit.bench.control import Answer, Child
from labkit.bench.handlers import DOMAIN
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
LEAST_RATIO = 0.2  # CPU of an answer by a bare handler, over that by the lab


def measure(count: int, progress: Callable[[str], object]) -> Result:
    """Open `count` websockets. Value: KiB of server memory each; times, and CPU of an answer, in the details.

    answer_ratio, which has a minimum: CPU of an answer by a bare aiohttp handler with as many websockets, over that by
    the lab. Raises BenchError where the system does not allow a process that many descriptors.
    """
    check_descriptors(count)
    with TemporaryDirectory() as folder, _Loaded(count, progress, "lab", settings(Path(folder))) as lab:
        opened = lab.open("settle", HOST)
        asked = lab.ask("settle")
        progress(f"websockets: send to {count}")
        last = lab.push()
    with _Loaded(count, progress, "reference") as bare:
        bare.open("usage", DOMAIN)
        bare.ask("usage")
    wrong = lab.wrong + bare.wrong
    ratio = bare.answer / lab.answer
    details = {
        "wrong": wrong,
        "answer_cpu_us": lab.answer,
        "bare_cpu_us": bare.answer,
        "answer_ratio": ratio,
        "answer_p50_ms": max(each["p50"] for each in asked) * 1e3,
        "answer_p99_ms": max(each["p99"] for each in asked) * 1e3,
        "all_last_s": last,
    }
    unit, holds = "KiB of server memory a websocket", not wrong and ratio >= LEAST_RATIO
    title = f"{count} {TITLE}"
    return Result.judge("websockets", title, unit, opened, MOST_MEMORY, 1.0, details, holds=holds)


class _Loaded:
    """A server and the clients that open websockets to it. answer: CPU microseconds of an answer; wrong: messages."""

    def __init__(self, count: int, progress: Callable[[str], object], *server: str) -> None:
        self._count, self._progress, self._kind = count, progress, server
        self._stack = ExitStack()
        self.answer = 0.0
        self.wrong = 0

    def __enter__(self) -> _Loaded:
        enter = self._stack.enter_context
        self._server = enter(Child("labkit.bench.server", *self._kind, core=0))
        self._clients = [enter(Child("labkit.bench.websocket_load", core=1)) for _ in range(CLIENTS)]
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, settle: str, host: str) -> float:
        """Open the websockets, after a few that warm imports, buffers and caches. Return KiB of memory each.

        settle: the server's command that returns its usage.
        """
        ready = self._server.ready
        there = {"port": ready["port"], "ca": ready["ca"], "host": host, "path": PATH}
        for client in self._clients:
            client.ask("open", **there, connections=WARM)
            client.ask("echo")
        before = self._server.ask(settle)["memory"]
        for number, client in enumerate(self._clients):
            share = self._count // CLIENTS + (number < self._count % CLIENTS)
            self._progress(f"websockets: open {share} ({self._kind[0]})")
            client.ask("open", **there, connections=share)
        return float(self._server.ask(settle)["memory"] - before) / self._count / 1024

    def ask(self, settle: str) -> list[Answer]:
        """Send a message on each websocket; return the clients' answers."""
        self._progress(f"websockets: ask on {self._count}, one after the other ({self._kind[0]})")
        before = self._server.ask(settle)["cpu"]
        asked = [client.ask("echo") for client in self._clients]
        self.answer = (self._server.ask(settle)["cpu"] - before) / (self._count + CLIENTS * WARM) * 1e6
        self.wrong += sum(each["wrong"] for each in asked)
        return asked

    def push(self) -> float:
        """Have a script send to all websockets; return the seconds until the last has its message."""
        for client in self._clients:
            client.ask("expect")
        began = self._clients[0].ask("push", text=PUSH)["began"]
        pushed = [client.ask("pushed", text=PUSH) for client in self._clients]
        self.wrong += sum(each["wrong"] for each in pushed)
        return float(max(each["last"] for each in pushed) - began)


def settings(folder: Path) -> str:
    """Return the settings of a lab with the script, which is written to a folder."""
    (folder / "endpoints").mkdir()
    (folder / "endpoints" / "live.lua").write_text(SCRIPT)
    return json.dumps({"solutions": [{"id": "bench", "path": str(folder)}]})
