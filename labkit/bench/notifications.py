"""Cost of a send of Notify with all its effects, the work of provider and handsets included, beside a baseline.

The lab is complete, in this process: the script's call, the request to the provider on a kept connection and
the provider's work on it, the deliveries, and the journal of these.
"""

from __future__ import annotations

import json
import socket
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from sqlalchemy import Connection

from labkit.bench.control import BenchError
from labkit.bench.variant import Variant, in_turn
from labkit.edge.certificates import Authority
from labkit.platform import Platform
from labkit.providers.messaging.bindings import Binding, create
from labkit.settings import LabSettings, build
from labkit.storage.database import Database, execute

SOLUTION = "bench"
ACCOUNT, SERVICE, TOKEN = f"AC{'b' * 32}", f"IS{'b' * 32}", "token-of-a-measure"
CONFIGURED = {"AccountSid": ACCOUNT, "AuthToken": TOKEN, "ServiceSid": SERVICE}
EVERY = 10  # one in this number of bindings has the tag
TAG = "tenth"
BODY = "Water in the cellar"
OWN = f"SELECT address, tags FROM messaging_binding WHERE service = '{SERVICE}' AND identity = ?"
TAGGED = (
    "SELECT b.address, b.tags FROM messaging_tag t CROSS JOIN messaging_binding b ON b.position = t.binding "
    f"WHERE t.service = '{SERVICE}' AND t.tag = ?"
)


class Fixture:
    """A lab with a solution that may notify, and bindings: every tenth identity has the tag `TAG`."""

    def __init__(self) -> None:
        account = {"sid": ACCOUNT, "token": TOKEN, "services": [{"sid": SERVICE}]}
        self.platform = Platform(
            build(
                LabSettings,
                {
                    "https_port": 0,
                    "providers": {"messaging": {"accounts": [account]}},
                    "solutions": [{"id": SOLUTION, "services": {"Notify": CONFIGURED}}],
                },
                "",
            )
        )

    async def start(self, stack: AsyncExitStack, bindings: int) -> Fixture:
        """Start the lab, until `stack` stops it, and create the bindings."""
        await stack.enter_async_context(self.platform)
        await self.database.run(fill_bindings, bindings, ACCOUNT, SERVICE)
        return self

    @property
    def database(self) -> Database:
        """The lab's database."""
        return self.platform.context.database

    async def send(self, reached: int, to: dict[str, object]) -> None:
        """Send a notification and wait for its delivery. Raises BenchError unless it reaches `reached` bindings."""
        before = self._records()
        sent: Any = await self.platform.call(SOLUTION, "Notify", "send", {"Body": BODY, **to})
        await self.platform.settle()
        if "error" in sent:
            raise BenchError(f"send: {sent['error']}")
        if (found := self._records() - before - 2) != reached:  # beside the call and the request
            raise BenchError(f"send: expected {reached} deliveries, not {found}")

    def _records(self) -> int:
        """Return the number of records that were added to the journal."""
        journal = self.platform.context.journal
        return len(journal) + journal.dropped


def fill_bindings(connection: Connection, bindings: int, account: str, service: str) -> None:
    """Create bindings of a notify service, each of another identity."""
    for number in range(bindings):
        tags = ("some", TAG) if number % EVERY == 0 else ("some", "others")
        binding = Binding(
            sid=f"BS{number:032}",
            account=account,
            service=service,
            identity=f"person {number}",
            endpoint=f"endpoint {number}",
            type="fcm",
            address=f"device-token-{number}",
            credential=None,
            protocol="3",
            tags=tags,
            created=0,
        )
        create(connection, binding)


class Bare:
    """A bare aiohttp server that parses a form and answers JSON, and a client with a kept connection to it."""

    async def start(self, stack: AsyncExitStack, answer: Callable[[], Awaitable[object]]) -> Bare:
        """Start server and client, until `stack` stops them. answer: makes the body of an answer."""
        authority = Authority.create()
        certificate, key = authority.leaf(["localhost"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "leaf.pem"
            file.write_bytes(key + certificate)
            context.load_cert_chain(file)

        async def post(request: web.Request) -> web.Response:
            await request.post()
            return web.json_response(await answer())

        app = web.Application()
        app.router.add_post("/", post)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        trusted = ssl.create_default_context(cadata=authority.ca_pem.decode())
        self._url = f"https://localhost:{runner.addresses[0][1]}/"
        connector = aiohttp.TCPConnector(ssl=trusted, family=socket.AF_INET)
        self._session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        return self

    async def post(self, form: dict[str, str]) -> object:
        """Post a form and return the JSON of the answer."""
        async with self._session.post(self._url, data=form) as response:
            return await response.json()


async def _baseline(stack: AsyncExitStack, database: Database, query: str, value: str) -> Callable[..., Any]:
    """Return a request to a bare server that reads the reached bindings and encodes a payload for each."""

    async def work() -> object:
        rows = await database.read(lambda connection: execute(connection, query, (value,)).fetchall())
        payloads = [
            json.dumps({"to": address, "data": {"twi_body": BODY}, "priority": "high"}) for address, _ in rows
        ]
        return {"sid": "NT", "reached": len(payloads)}

    bare = await Bare().start(stack, work)
    return bare.post


async def send_one(stack: AsyncExitStack, bindings: int) -> dict[str, Variant]:
    """Measure a send to an identity with one binding; `alone`: without other bindings."""
    many, few = await Fixture().start(stack, bindings), await Fixture().start(stack, EVERY)
    baseline = await _baseline(stack, many.database, OWN, "person 1")
    to = {"Identity": "person 1"}
    return {
        "lab": in_turn([to], partial(many.send, 1)),
        "baseline": in_turn([{"Identity": "person 1", "Body": BODY}], baseline),
        "alone": in_turn([to], partial(few.send, 1)),
    }


async def send_tagged(stack: AsyncExitStack, bindings: int) -> dict[str, Variant]:
    """Measure a send by a tag that a tenth of the bindings have; `of_all`: among as many bindings that all have it."""
    fixture = await Fixture().start(stack, bindings)
    small = await Fixture().start(stack, bindings // EVERY)
    reached = bindings // EVERY
    baseline = await _baseline(stack, fixture.database, TAGGED, TAG)
    return {
        "lab": in_turn([{"Tag": TAG}], partial(fixture.send, reached), reached),
        "baseline": in_turn([{"Tag": TAG, "Body": BODY}], baseline, reached),
        "of_all": in_turn([{"Tag": "some"}], partial(small.send, reached), reached),
    }


VARIANTS: dict[str, Callable[[AsyncExitStack, int], Awaitable[dict[str, Variant]]]] = {
    "notify-send": send_one,
    "notify-tag": send_tagged,
}
