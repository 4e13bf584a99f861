"""The whole platform: resets, external services and hosts, and suspension."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aiohttp import ClientSession, web

from labkit import Lab
from labkit.context import Context
from labkit.control.control import Control
from labkit.core.errors import LabError, SettingsError
from labkit.fleet.flow import FlowClient, LabAddress
from labkit.http.error import HttpError
from labkit.http.sites import Site, SiteExchange
from labkit.labtime.clock import VIRTUAL_START
from labkit.labtime.events import EventKind
from labkit.platform import Platform
from labkit.services.operation import Caller, Service, operation
from labkit.settings import LabSettings, ProductSettings, SolutionSettings, build
from tests.sizes import size

ENDPOINT = "counter = (counter or 0) + 1 return {counter, math.random(), context.tracking_id}"
EVENT = """
seen = (seen or 0) + 1
print(seen, data.seq, data.value[1], math.random())
Keystore.command{key = 'n', command = 'incr'}
"""


def story(lab: Lab) -> list[object]:
    """Run a story with two devices, two solutions, time, people, mail; return all that is visible of it."""
    thermostat, acme, other = lab.product("thermostat"), lab.solution("acme"), lab.solution("other")
    observed: list[object] = []
    for identity in ("a", "b"):
        device = thermostat.device(identity).activate()
        device.write(message=f"from {identity}", temperature=20.5)
        lab.clock.advance(seconds=0.75)
        device.write(message="again")
    lab.settle()
    observed += [acme.get("/count").json(), acme.get("/count").json(), other.get("/count").json()]
    observed.append(acme.User.createUser(email="ann@example.com", name="Ann", password="correct horse"))
    acme.Email.send(to="ann@example.com", subject="Hello", text="x")
    acme.Config.setParameters(service="Email", parameters={"changed": True})
    observed += [acme.Keystore.get(key="n"), len(lab.mailbox), lab.clock.time, lab.journal.canonical()]
    return observed


@pytest.mark.parametrize("durable", [False, True])
def test_a_seeded_story_repeats_after_a_reset(tmp_path: Path, durable: bool) -> None:
    with Lab(seed=3, data=tmp_path / "lab.db" if durable else None) as lab:
        lab.product("thermostat", resources={"message": "string", "temperature": "number"})
        for name in ("acme", "other"):
            solution = lab.solution(name, products=["thermostat"])
            solution.route("GET", "/count", lua=ENDPOINT)
            solution.on("device", "datapoint", lua=EVENT)
        lab.reset()  # the journal of the set-up is not part of the story
        first = story(lab)
        lab.reset()
        assert story(lab) == first


class Counter(Service):
    """A service that counts calls per solution, and emits an event."""

    name: ClassVar[str] = "Counter"
    events: ClassVar[tuple[EventKind, ...]] = (EventKind("counter", "counted", ("count", "number")),)

    def __init__(self, context: Context) -> None:
        self._context = context
        self.counts: dict[str, int] = {}
        self.started = False

    async def start(self) -> None:
        self.started = True

    async def stop(self) -> None:
        self.started = False

    async def clear(self) -> None:
        self.counts.clear()

    @operation
    async def add(self, caller: Caller, amount: int = 1) -> dict[str, object]:
        """Add to the count, and emit `counted`."""
        count = self.counts[caller.solution] = self.counts.get(caller.solution, 0) + amount
        self._context.events.emit(
            f"{caller.solution}/counter",
            [(self.events[0], lambda: {"count": count}, None)],
            cause=caller.cause,
            solution=caller.solution,
        )
        return {"count": count}


class Greeter(Site[SiteExchange]):
    """A host with a greeting."""

    async def answer(self, exchange: SiteExchange) -> web.StreamResponse:
        await exchange.acts_as()
        if exchange.request.method != "GET":
            raise HttpError(405, "only greetings here", {"Allow": "GET"})
        return web.Response(text=f"Hello {exchange.path} at {exchange.connection.host}")


async def test_an_external_service_has_the_same_lifecycle() -> None:
    async with Platform(seed=1) as platform:
        for name in ("acme", "other"):
            solution = await platform.solutions.add(SolutionSettings(id=name))
            solution.route("GET", "/add", lua="return Counter.add{amount = 2}")
        counter = Counter(platform.context)
        await platform.services.add(counter)
        assert counter.started
        heard: list[object] = []
        # The service declares these names of a handler's argument.
        platform.solutions.get("acme").on(
            "counter", "counted", lambda count, number: heard.append((count, number))
        )
        assert await platform.call("acme", "Counter", "add", {"amount": 2}) == {"count": 2}
        assert await platform.call("other", "Counter", "add") == {"count": 1}
        await platform.settle()
        assert heard == [({"count": 2}, {"count": 2})]
        listed = await platform.call("acme", "Config", "listServices")
        assert isinstance(listed, list)
        assert "Counter" in [each["service"] for each in listed]
        with pytest.raises(SettingsError, match="service 'Counter' is there already"):
            await platform.services.add(Counter(platform.context))
        await platform.reset()
        assert counter.counts == {}
        await platform.services.remove("Counter")
        refused = await platform.call("acme", "Counter", "add")
        assert isinstance(refused, dict)
        assert refused["status"] == 404
        with pytest.raises(LabError, match="no service 'Counter'"):
            await platform.services.remove("Counter")
        again = Counter(platform.context)
        await platform.services.add(again)
    assert not again.started


async def test_an_external_host_has_a_certificate() -> None:
    async with Platform() as platform:
        hosts = ("hello.lab.localhost", "shop.localhost")
        for host in hosts:
            platform.context.hosts.add(Greeter(host, "a test", "greeter", platform.context))
        address = platform.context.address
        client = LabAddress(address.host, address.https_port, address.ca_pem)
        for host in hosts:
            flow = FlowClient(client, host)
            answer = await flow.request("GET", "/you")
            refused = await flow.request("PUT", "/you")
            await flow.close()
            assert (answer.status_code, answer.text) == (200, f"Hello /you at {host}")
            assert (refused.status_code, refused.headers["Allow"], refused.text) == (
                405,
                "GET",
                "only greetings here",
            )
        records = platform.context.journal.select("request", "greeter")
        assert [(each.summary, each.status) for each in records] == [("GET /you", 200), ("PUT /you", 405)] * 2
        with pytest.raises(SettingsError, match=r"product 'p': domain shop.localhost is taken by a test"):
            await platform.add_product(ProductSettings(id="p", domain="shop.localhost"))


async def test_a_failed_start_leaves_nothing(tmp_path: Path) -> None:
    async with Platform() as platform:
        taken = platform.context.address.https_port
        other = Platform(LabSettings(https_port=taken, data=tmp_path / "lab.db"))
        with pytest.raises(SettingsError, match=r"^https_port: cannot listen"):
            await other.start()
        async with Platform(LabSettings(https_port=0, data=tmp_path / "lab.db")):
            pass  # the data file was released


# ---- operations on the whole lab

WHOLE = {
    "https_port": 0,
    "http_port": 0,
    "products": [{"id": "thermostat", "identities": ["t-1"]}],
    "solutions": [{"id": "acme", "products": ["thermostat"]}],
}
STORE = "Keystore.set{key = request.parameters.key, value = 1} return 'stored'"


async def asked(platform: Platform, path: str, method: str = "GET") -> tuple[int, str]:
    """Return status and text of an answer of the solution."""
    url = f"http://127.0.0.1:{platform.context.address.http_port}{path}"
    host = f"acme.apps.lab.localhost:{platform.context.address.http_port}"
    async with ClientSession() as session, session.request(method, url, headers={"Host": host}) as answer:
        return answer.status, await answer.text()


async def test_operations_on_the_whole_lab_exclude_each_other_and_requests_wait() -> None:
    async with Platform(build(LabSettings, WHOLE)) as platform:
        control = Control(platform)
        lab, solutions = control.lab, control.solutions
        await solutions.route("acme", "POST", "/store", STORE, "")
        content = (await lab.snapshot()).content
        for round_ in range(size(4, 100)):
            operations: list[Callable[[], Awaitable[Any]]] = [
                partial(lab.restore, content, trusted=True),
                lab.reset,
                lab.snapshot,
                partial(solutions.reload, "acme"),
                partial(solutions.reload, "acme"),
                partial(control.services.call, "acme", "Keystore", "list", {}),
                lab.settle,
            ]
            random.Random(round_).shuffle(operations)
            requests = [asked(platform, f"/store?key={number}", "POST") for number in range(8)]
            done = await asyncio.gather(*(each() for each in operations), *requests)
            assert done[len(operations) :] == [(200, "stored")] * 8
            assert [each.id for each in platform.solutions] == ["acme"]
            await lab.restore(content, trusted=True)
        assert platform.context.journal.select("error") == []


async def test_a_restart_goes_on_without_its_caller() -> None:
    async with Platform(build(LabSettings, WHOLE)) as platform:
        for turns in range(size(12, 60)):
            leaving = asyncio.ensure_future(platform.restart())
            for _ in range(turns):
                await asyncio.sleep(0)
            leaving.cancel()
            await asyncio.wait([leaving])
            assert (await asked(platform, "/none"))[0] == 404


async def test_a_restart_that_fails_stops_the_lab_which_says_why(tmp_path: Path) -> None:
    file, away = tmp_path / "lab.db", tmp_path / "away.db"
    async with Platform(build(LabSettings, {**WHOLE, "data": str(file)})) as platform:
        lab = Control(platform).lab
        file.rename(away)
        file.mkdir()
        reason = rf"data: cannot use {file}: unable to open database file"
        with pytest.raises(SettingsError, match=rf"^{reason}$"):
            await lab.restart()
        why = f"the lab has stopped, since its restart failed: {reason}; mend that, and restart it again"
        assert await asked(platform, "/") == (503, why)
        for operation in (lab.reset, lab.snapshot, partial(Control(platform).solutions.reload, "acme")):
            with pytest.raises(LabError, match=rf"^{why}$"):
                await operation()
        with pytest.raises(LabError, match=rf"^the lab has stopped: {reason}$"):
            await Control(platform).identities.all("thermostat")
        file.rmdir()
        away.rename(file)
        await lab.restart()
        assert (await asked(platform, "/"))[0] == 404
        file.rename(away)
        with pytest.raises(SettingsError, match=rf"^data: {file} was deleted while the lab ran$"):
            await lab.restart()


# ---- suspended, and resumed on another loop

APPLICATION = {"client_id": "a", "client_secret": "b", "redirect": "https://acme.apps.lab.localhost/back"}
SETTINGS = {
    "https_port": 0,
    "products": [{"id": "thermostat", "resources": {"message": "string"}}],
    "solutions": [{"id": "acme", "products": ["thermostat"]}],
    "providers": {"social": [{"name": "google", "applications": [APPLICATION]}]},
}
LUA = "count = (count or 0) + 1 Keystore.set{key = 'n', value = count} return count"


def test_a_suspended_platform_resumes_on_another_loop() -> None:
    rung: list[float] = []

    async def begin() -> Control:
        platform = await Platform(build(LabSettings, SETTINGS), seed=7).start()
        control = Control(platform)
        clock = platform.context.clock
        clock.call_at(VIRTUAL_START + 5, lambda: rung.append(clock.now()))
        await control.solutions.route("acme", "GET", "/count", LUA, "application/json")
        await control.functions.route("acme", "GET", "/thread", blocking, "application/json")
        for path in ("/count", "/thread"):  # so that there is a fiber, a thread, a connection
            listening = platform.context.address
            address = LabAddress(listening.host, listening.https_port, listening.ca_pem)
            client = FlowClient(address, "acme.apps.lab.localhost")
            assert (await client.request("GET", path)).status_code == 200
            await client.close()
        await control.suspend()
        return control

    before = threading.active_count()
    control = asyncio.run(begin())
    assert threading.active_count() == before
    with Lab.resumed(control) as lab:
        acme = lab.solution("acme")
        assert (acme.get("/count").json(), acme.get("/thread").json()) == (2, 2)
        device = lab.product("thermostat").device("t-1").activate()
        device.write(message="hello")
        assert device.read("message") == {"message": "hello"}
        [application] = lab.provider("google").applications
        assert application.redirects == (acme.url("/back"),)
        lab.clock.advance(seconds=5)
        assert rung == [VIRTUAL_START + 5]
        assert lab.journal.select("error") == []


def blocking(services: Any) -> Any:
    return services.Keystore.get(key="n")["value"]
