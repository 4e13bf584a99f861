"""The frame around every site: a request's journal record is complete, however the request ends."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import pytest

from labkit.core.errors import StorageError
from labkit.core.records import Record
from labkit.http.error import HttpError
from labkit.http.sites import LEFT, Site
from labkit.providers.messaging.provider import Messaging
from labkit.providers.social.providers import SocialProviders
from labkit.settings import SolutionSettings
from tests.device_api.rig import PATIENCE, Client, DeviceRig, device_rig

SITES = ["product", "solution", "identity provider", "messaging provider"]


async def site_of(rig: DeviceRig, kind: str) -> Site[Any]:
    """Return a site of each kind in a platform."""
    platform = rig.platform
    match kind:
        case "product":
            host = platform.devices.products.get("token").domain
        case "solution":
            host = (await platform.solutions.add(SolutionSettings(id="acme"))).domain
        case "identity provider":
            host = platform.provider(SocialProviders).get("google").host
        case _:
            host = platform.provider(Messaging).host
    site = platform.context.hosts.find(host)
    assert site is not None
    return site


async def connect(rig: DeviceRig, site: Site[Any]) -> Client:
    return Client(
        site.host, *await asyncio.open_connection("127.0.0.1", rig.platform.context.address.http_port)
    )


def next_end(rig: DeviceRig) -> asyncio.Future[Record]:
    """Return the next complete record of a request."""
    ended: asyncio.Future[Record] = asyncio.get_running_loop().create_future()

    def watch(record: Record) -> None:
        if record.kind == "request" and not ended.done():
            ended.set_result(record)

    rig.platform.context.journal.watch(watch, ended=True)
    return ended


@pytest.mark.parametrize("kind", SITES)
async def test_the_record_is_complete_if_the_client_disconnects(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with device_rig() as rig:
        site, begun = await site_of(rig, kind), asyncio.Event()

        async def endless(exchange: Any) -> NoReturn:
            exchange.connection.watch_input()  # over plain HTTP its client could still read
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets it")

        monkeypatch.setattr(site, "answer", endless)
        ended = next_end(rig)
        client = await connect(rig, site)
        client.send("GET", "/wait")
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
            client.leave()
            record = await ended
        assert (record.summary, record.status, record.size) == ("GET /wait", None, None)
        if "provider" not in kind:  # whose records describe the work of their inboxes
            assert record.detail == {"reason": LEFT}


@pytest.mark.parametrize("kind", SITES)
@pytest.mark.parametrize(
    ("error", "status"), [(HttpError(418, "no coffee"), 418), (StorageError(507, "no disk"), 507)]
)
async def test_the_record_is_complete_if_the_request_fails(
    kind: str, error: Exception, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with device_rig() as rig:
        site = await site_of(rig, kind)

        async def broken(exchange: Any) -> NoReturn:
            raise error

        monkeypatch.setattr(site, "answer", broken)
        ended = next_end(rig)
        client = await connect(rig, site)
        answer = await client.ask("GET", "/broken")
        client.leave()
        async with asyncio.timeout(PATIENCE):
            record = await ended
        assert answer.status == record.status == status
        _, port = client._writer.get_extra_info("sockname")
        nameless = kind == "product" and isinstance(error, HttpError)
        assert (record.detail or {}).get("peer") == (f"127.0.0.1:{port}" if nameless else None)
