"""Keystore on an external Redis. The check starts a lab and a Redis of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.core.errors import SettingsError


@check(
    "KEY-MORE-5",
    "in an external Redis keys are kept, cleared and separate, and its errors are returned",
    needs={"settings"},
)
async def outside(target: Target) -> None:
    await target.in_lab(_outside)


def _outside() -> None:
    from labkit.lab.lab import Lab

    both: dict[str, Any] = {"speed": 1, "solutions": [{"id": "one"}, {"id": "other"}]}
    with _redis() as (url, end):
        with Lab(1, keystore=url, domain="a.localhost", **both) as lab, Lab(1, keystore=url, **both) as apart:
            ours, theirs, elsewhere = (
                each.Keystore for each in (lab.solution("one"), lab.solution("other"), apart.solution("one"))
            )
            for each in (ours, theirs, elsewhere):
                expect.equal("what set gives", each.set(key="k é", value=0.5), {})
            found = ours.command(key="k é", command="append", args=["0"])
            expect.equal("what append gives", found, {"value": 4})
            for each, wanted in ((ours, "0.50"), (theirs, "0.5"), (elsewhere, "0.5")):
                expect.equal("what get gives", each.get(key="k é"), {"value": wanted})
                expect.equal("keys", each.list()["keys"], ["k é"])
            lab.restart()
            expect.equal("what get gives after a restart", ours.get(key="k é"), {"value": "0.50"})
            lab.reset()
            expect.equal("keys after a reset", [each.list()["keys"] for each in (ours, theirs)], [[], []])
            expect.equal("keys of another lab", elsewhere.list()["keys"], ["k é"])
            refused = elsewhere.command(key="k é", command="lpush", args=["a"])
            shown = {name: refused.get(name) for name in ("type", "status")}
            expect.equal("error of lpush", shown, {"type": "QueryError", "status": 400})
            expect.true("it is Redis' own", "WRONGTYPE Operation against a key" in refused["error"], refused)
            end()
            gone = ours.get(key="k é")
            expect.equal("what get gives without a Redis", gone.get("status"), 503)
        for settings in (
            {"keystore": url, "speed": 1},
            {"keystore": url},
            {"keystore": "http://localhost", "speed": 1},
        ):
            try:
                Lab(1, **settings).close()
            except SettingsError as error:
                expect.true("the error names the setting", str(error).startswith("keystore: "), str(error))
            else:
                raise Mismatch(f"a lab with {settings}", "that it is refused", "it was taken")


@contextmanager
def _redis() -> Iterator[tuple[str, Any]]:
    """Run a Redis; provide its URL and a function that ends it."""
    from fakeredis import TcpFakeServer

    server = TcpFakeServer(("127.0.0.1", 0))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    ended = False

    def end() -> None:
        nonlocal ended
        if not ended:
            ended = True
            server.shutdown()
            server.server_close()
            thread.join()

    try:
        yield f"redis://127.0.0.1:{server.server_address[1]}/0", end
    finally:
        end()
