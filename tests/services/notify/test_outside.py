"""Notify with an external provider: a server of the test, over a real socket."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from labkit.platform import Platform
from labkit.services.operation import Caller
from labkit.settings import LabSettings, build

TENANTS = {
    each: {"AccountSid": f"AC{each}", "AuthToken": f"token of {each}", "ServiceSid": f"IS{each}"}
    for each in ("acme", "other")
}


class Elsewhere:
    """A minimal server of bindings by service. held: answers wait for this event."""

    def __init__(self) -> None:
        self.bindings: dict[str, list[dict[str, Any]]] = {}
        self.held = asyncio.Event()
        self.held.set()
        self._runner = web.ServerRunner(web.Server(self.handle))
        self.url = ""
        self.headers: list[str] = []  # names that the newest request had

    async def start(self) -> None:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/some/base/"

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        await self.held.wait()
        self.headers = [*request.headers]
        login, _, token = b64decode(request.headers["Authorization"].split()[1]).decode().partition(":")
        if token != f"token of {login.removeprefix('AC')}":
            return web.json_response({"code": 20003, "message": "wrong", "status": 401}, status=401)
        lead, _, rest = request.path.partition("/v1/Services/")
        assert lead == "/some/base"
        service, kind, *sid = rest.split("/")
        found = self.bindings.setdefault(service, [])
        if request.method == "POST":
            form = await request.post()
            if kind == "Notifications":
                to = [each for each in found if each["identity"] in form.getall("Identity", [])]
                answer = {
                    "sid": "NT1",
                    "ttl": int(str(form.get("Ttl", 60))),
                    "segments": [each["sid"] for each in to],
                }
                return web.json_response(answer, status=201)
            made = {
                "sid": f"BS{service}x{len(found)}",
                "identity": form["Identity"],
                "address": form["Address"],
                "tags": form.getall("Tag", []),
                "date_created": "2026-01-02T03:04:05Z",
            }
            found.append(made)
            return web.json_response(made, status=201)
        if not sid:
            return web.json_response({"meta": {"key": "bindings"}, "bindings": found})
        there = [each for each in found if [each["sid"]] == sid]
        if not there:
            return web.json_response({"code": 20404, "message": "none", "status": 404}, status=404)
        if request.method == "DELETE":
            found.remove(there[0])
            return web.Response(status=204)
        return web.json_response(there[0])


@pytest.fixture
async def elsewhere() -> AsyncIterator[Elsewhere]:
    server = Elsewhere()
    await server.start()
    yield server
    await server.stop()


def settings(outside: str, **guard: float) -> LabSettings:
    values = {
        "https_port": 0,
        "guard": guard,
        "providers": {"messaging": {"outside": outside}},
        "solutions": [{"id": name, "services": {"Notify": own}} for name, own in TENANTS.items()],
    }
    return build(LabSettings, values, "")


async def test_two_tenants_use_it_concurrently(elsewhere: Elsewhere) -> None:
    async with Platform(settings(elsewhere.url)) as platform:

        async def one(tenant: str, number: int) -> None:
            identity = f"{tenant} {number} é&="
            made: Any = await platform.call(
                tenant,
                "Notify",
                "createBinding",
                {
                    "Identity": identity,
                    "Endpoint": "e",
                    "BindingType": "sms",
                    "Address": "+15005550001",
                    "Tag": ["a", "b"],
                },
            )
            assert made["identity"] == identity
            assert made["tags"] == ["a", "b"]
            assert made["date_created"] == "Fri, 02 Jan 2026 03:04:05 +0000"
            got = await platform.call(tenant, "Notify", "getBinding", {"BindingSid": made["sid"]})
            assert got == made
            sent: Any = await platform.call(
                tenant, "Notify", "send", {"Identity": identity, "Body": "x", "Ttl": 0}
            )
            assert (sent["segments"], sent["ttl"]) == ([made["sid"]], "0")

        await asyncio.gather(*(one(tenant, number) for tenant in TENANTS for number in range(5)))
        for tenant, own in TENANTS.items():
            listed: Any = await platform.call(tenant, "Notify", "listBinding")
            assert len(listed["bindings"]) == 5
            assert all(each["identity"].startswith(tenant) for each in listed["bindings"])
            sid = listed["bindings"][0]["sid"]
            assert await platform.call(tenant, "Notify", "deleteBinding", {"BindingSid": sid}) is None
            assert len(elsewhere.bindings[own["ServiceSid"]]) == 4
            missing: Any = await platform.call(tenant, "Notify", "getBinding", {"BindingSid": sid})
            assert (missing["type"], missing["status"]) == ("QueryError", 404)
            assert json.loads(missing["error"])["code"] == 20404
        wrong: Any = await platform.call("acme", "Notify", "listBinding", {"AuthToken": "token of other"})
        assert (wrong["type"], wrong["status"]) == ("QueryError", 401)
        assert json.loads(wrong["error"])["code"] == 20003
        written = repr([(each.summary, each.detail) for each in platform.context.journal.select()])
        assert "token of" not in written


async def test_a_provider_that_does_not_answer_delays_no_other_call(elsewhere: Elsewhere) -> None:
    elsewhere.held.clear()
    async with Platform(settings(elsewhere.url, outbound=0.1)) as platform:
        late, there = await asyncio.gather(
            platform.call("acme", "Notify", "listBinding"),
            platform.call("acme", "Keystore", "set", {"key": "a", "value": "b"}),
        )
        assert isinstance(late, dict)
        assert (late["type"], late["status"]) == ("ServerError", 504)
        assert isinstance(there, dict)
        assert "error" not in there
        elsewhere.held.set()


async def test_an_unreachable_provider_is_an_error_without_an_address(elsewhere: Elsewhere) -> None:
    async with Platform(settings(elsewhere.url)) as platform:
        await elsewhere.stop()
        missing: Any = await platform.call("acme", "Notify", "listBinding")
        assert missing == {
            "type": "ServerError",
            "status": 502,
            "status_code": 502,
            "error": "Notify's provider cannot be reached.",
        }


async def test_a_delivery_of_the_labs_own_provider_is_traced_to_its_script() -> None:
    account = {"sid": f"AC{'1' * 32}", "token": "secret-token", "services": [{"sid": f"IS{'1' * 32}"}]}
    own = {"AccountSid": account["sid"], "AuthToken": account["token"], "ServiceSid": f"IS{'1' * 32}"}
    values = {
        "https_port": 0,
        "providers": {"messaging": {"accounts": [account]}},
        "solutions": [{"id": "acme", "services": {"Notify": own}}],
    }
    async with Platform(build(LabSettings, values, "")) as platform:
        caller = Caller("acme", platform.context.journal.record("script", "acme", "a run"))
        given = {"Identity": "ann", "Endpoint": "e", "BindingType": "apn", "Address": "token"}
        await platform.services.call(caller, "Notify", "createBinding", given)
        await platform.services.call(caller, "Notify", "send", {"Identity": "ann", "Body": "x"})
        await platform.settle()
        records = {each.sequence: each for each in platform.context.journal}
        delivery = next(each for each in records.values() if each.kind == "delivery")
        request = records[delivery.cause or 0]
        assert (request.kind, request.cause) == ("request", caller.cause)
        written = repr([(each.actor, each.summary, each.detail) for each in records.values()])
        assert "secret-token" not in written


async def test_an_external_provider_gets_no_cause_of_the_journal(elsewhere: Elsewhere) -> None:
    async with Platform(settings(elsewhere.url)) as platform:
        await platform.services.call(Caller("acme", 7), "Notify", "listBinding", {})
        assert not [name for name in elsewhere.headers if name.lower().startswith("x-labkit")]
        assert "Authorization" in elsewhere.headers
