"""The load process of Locust, the reference for our own: `python -m labkit.bench.locust_load CORE`.

Importing Locust patches the standard library for gevent, so nothing of labkit's own load is imported here; and
its resolver resolves names below localhost itself, which the system's need not know.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any
from urllib.parse import quote

import gevent
from gevent.resolver.thread import Resolver as SystemResolver

LOOPBACK = "127.0.0.1"


class Resolver(SystemResolver):  # type: ignore[misc]  # gevent's resolvers are untyped
    """Resolves localhost and all names below it to the loopback address (RFC 6761 6.3)."""

    def getaddrinfo(self, host: Any, *args: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if isinstance(name, str) and (name == "localhost" or name.endswith(".localhost")):
            host = LOOPBACK
        return super().getaddrinfo(host, *args, **options)


gevent.config.resolver = Resolver

from locust import FastHttpUser, task  # noqa: E402  it starts gevent, so the resolver must be set before
from locust.contrib.fasthttp import insecure_ssl_context_factory  # noqa: E402
from locust.env import Environment  # noqa: E402

from labkit.bench.control import prepare  # noqa: E402

ALIAS = "/onep:v1/stack/alias"


def user_class(url: str) -> type[Any]:
    """Return a user class that writes as a device does: with its own token and count, over one kept connection."""

    context = insecure_ssl_context_factory()

    class Device(FastHttpUser):  # type: ignore[misc]
        host = url
        ssl_context_factory = staticmethod(lambda: context)  # one for all: each would read the system's CAs
        tokens = iter(range(10**9))

        def on_start(self) -> None:
            self.headers = {
                "X-Platform-CIK": f"{next(self.tokens):040x}",
                "Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
            }
            self.count = 0

        @task  # type: ignore[untyped-decorator]
        def write(self) -> None:
            self.count += 1
            self.client.post(ALIAS, data=f"count={quote(str(self.count))}", headers=self.headers)

    return Device


def hammer(port: int, domain: str, users: int, seconds: float) -> dict[str, float]:
    """Let users write without pause for some seconds, after all have connected."""
    environment = Environment(user_classes=[user_class(f"https://{domain}:{port}")])
    runner = environment.create_local_runner()
    stats = environment.stats  # a start replaces its `total`
    runner.start(users, spawn_rate=users)
    while stats.total.num_requests < users * 5 and not stats.total.num_failures:
        gevent.sleep(0.05)
    before, began, cpu = stats.total.num_requests, time.perf_counter(), time.process_time()
    gevent.sleep(seconds)
    answer = {
        "requests": stats.total.num_requests - before,
        "failures": stats.total.num_failures,
        "cpu": time.process_time() - cpu,
        "seconds": time.perf_counter() - began,
    }
    runner.quit()
    return answer


def main() -> None:
    """Execute the commands of the benchmark until standard input ends."""
    prepare(int(sys.argv[1]))
    _say({})
    while line := sys.stdin.readline():  # nothing else runs between two commands
        command = json.loads(line)
        command.pop("do")
        try:
            _say(hammer(**command))
        except Exception as error:  # noqa: BLE001  reported to the parent process
            _say({"error": f"{type(error).__name__}: {error}"})


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
