"""Random requests: no answer is a 5xx, no traceback, no connection that hangs, and no 4xx stores anything."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import h11
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from labkit.core.records import Record
from labkit.storage.database import driver
from tests.device_api.grammar import Request, requests
from tests.device_api.rig import PASSWORD, Answer, Client, DeviceRig, basic, pair
from tests.device_api.rig import device_rig as lab
from tests.sizes import size

PRODUCTS = ["token", "password", "certificate"]
HELD_FOR = 5.0  # seconds of real time within which a connection is answered or closed
KEPT_FOR = 1e9  # seconds of lab time that idle connections last, which polls move on by minutes
TOGETHER = 10  # requests in a case: hypothesis takes longer per case than the lab per request
CUT_SHORT = 0.02  # seconds to wait for a body that will not arrive whole; other bodies have the normal limit


class Fuzzed:
    """A lab whose devices stay provisioned, and a connection of each that is reused as long as the lab allows."""

    def __init__(self, rig: DeviceRig) -> None:
        self.rig = rig
        self.seen: Counter[int | str] = Counter()
        self.happened: Counter[str] = Counter()
        self.refusal = ""
        self._pair = pair("d")
        self._clients: dict[str, Client] = {}
        rig.platform.context.journal.watch(self._note)

    def _note(self, entry: Record) -> None:
        self.happened[entry.kind] += 1
        if entry.kind == "refused":
            self.refusal = entry.summary

    async def provision(self, product: str) -> None:
        """Give the device its credentials, again if it had some."""
        registry = self.rig.platform.devices.registry
        if await registry.find(product, "d") is not None:
            await registry.remove(product, "d")
        self._clients.pop(product, None)
        client = await self.client(product)
        if product == "token":
            _, token = await registry.provision_token(product, "d", register=True)
            client.credentials = [("X-Platform-CIK", token)]
        elif product == "password":
            await registry.provision_password(product, "d", PASSWORD, register=True)
            client.credentials = [basic("d", PASSWORD)]
        else:
            await client.ask("GET", "/timestamp")

    async def client(self, product: str) -> Client:
        if product not in self._clients:
            pair = self._pair if product == "certificate" else None
            self._clients[product] = await self.rig.connect(product, pair, tls=True)
        return self._clients[product]

    async def mark(self) -> tuple[int, int]:
        """Return a value that changes whenever something is stored or an event is emitted."""
        changes = await self.rig.platform.context.database.read(lambda c: driver(c).total_changes)
        return changes, self.happened["event"]

    async def play(self, request: Request) -> None:
        client = await self.client(request.product)
        kept = client.credentials
        before = await self.mark()
        client.write(request.encode(client.host.encode(), shown(request, client)))
        with self._short_bodies() if request.framing == "cut" else nullcontext():
            answer = await self.answer(client, request)
        self.seen[answer.status if answer else "closed"] += 1
        if answer is None:
            assert self.refusal == "wrong host"  # the one kind of request without an answer
        else:
            assert answer.status < 500
            assert b"Traceback" not in answer.body
            if answer.status >= 400:
                assert await self.mark() == before
                assert request.method == b"HEAD" or 0 < len(answer.body) < 300
        ends = answer is None or answer.header("Connection") == "close" or request.framing == "cut"
        ends |= request.method == b"CONNECT"  # the answer has no body, so the next bytes are the next answer
        del self._clients[request.product]
        if not ends and answer is not None and answer.version == "1.1":
            again = await self.answer(client, None)  # the connection continues with the next request
            assert again is not None
            assert again.status == 200
            self._clients[request.product] = client
        else:
            client.leave()
            (await self.client(request.product)).credentials = kept
        if b"activate" in request.path and answer is not None and answer.status in (200, 204):
            await self.provision(request.product)
        assert self.happened["error"] == 0

    @contextmanager
    def _short_bodies(self) -> Iterator[None]:
        """Shorten the limits for bodies. Settings are frozen: nothing else changes them while a lab runs."""
        guard = self.rig.platform.context.settings.guard
        usual = guard.body
        object.__setattr__(guard, "body", CUT_SHORT)
        yield
        object.__setattr__(guard, "body", usual)

    async def answer(self, client: Client, request: Request | None) -> Answer | None:
        """Return the answer; None if the connection ends. A pending poll is ended by advancing the clock."""
        if request is None:
            client.send("GET", "/timestamp")
        method = "GET" if request is None else request.method.decode("latin-1")
        coming = asyncio.ensure_future(final(client, method))
        held = asyncio.ensure_future(self.rig.platform.devices.polls.wait_for_next())
        try:
            async with asyncio.timeout(HELD_FOR):
                await asyncio.wait([coming, held], return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    self.seen["held"] += 1
                    await self.rig.platform.context.clock.advance(300)
                return await coming
        except ConnectionError:
            return None
        except h11.RemoteProtocolError as error:
            if "closed" not in str(error).lower():  # the bytes received are no answer
                raise
            return None
        finally:
            held.cancel()


async def final(client: Client, method: str) -> Answer:
    answer = await client.answer(method)
    while answer.status == 100:
        answer = await client.answer(method)
    return answer


def shown(request: Request, client: Client) -> list[tuple[bytes, bytes]]:
    valid = [(name.encode(), value.encode()) for name, value in client.credentials]
    return {
        "valid": valid,
        "none": [],
        "wrong": [(b"X-Platform-CIK", b"0" * 40)],
        "other type": [(b"Authorization", b"Basic ZDp4")],
        "garbage": [(b"Authorization", b"\xff\xfe Basic %%%"), (b"X-Platform-CIK", b"\xff")][:1],
        "twice": valid * 2,
    }[request.credential]


@pytest.mark.timeout(600)
def test_no_request_hangs_fails_or_stores_data_that_was_refused() -> None:
    with asyncio.Runner() as runner:
        context = lab(guard={"keep_alive": KEPT_FOR})
        fuzzed = Fuzzed(runner.run(context.__aenter__()))
        for product in PRODUCTS:
            runner.run(fuzzed.provision(product))
            runner.run(fuzzed.rig.platform.devices.content.add(product, "fw", b"0123456789"))

        @settings(
            max_examples=size(500, 10_000) // TOGETHER,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],  # the lab changes between cases: shrinking is vain
        )
        @given(st.lists(requests(), min_size=TOGETHER, max_size=TOGETHER))
        def play(drawn: list[Request]) -> None:
            for request in drawn:
                runner.run(fuzzed.play(request))

        play()
        runner.run(context.__aexit__(None, None, None))
    assert sum(count for status, count in fuzzed.seen.items() if status != "held") >= size(500, 10_000)
    expected = {200, 204, 304, 400, 401, 404, 405, 408, 413, 415, "held"}
    assert expected <= set(fuzzed.seen), fuzzed.seen  # the lab did not request a body that never arrives
