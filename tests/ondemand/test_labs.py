"""Labs on demand: apart from each other, counted, ended by order and by lease, and told of when their process dies."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from labkit import FullError, Lab, LabError
from labkit.conformance import fork_server as fork_servers
from labkit.control.over_http.listener import ControlAddress, control_listener
from labkit.edge.certificates import Authority
from labkit.ondemand import labs as labs_module
from labkit.ondemand.labs import OnDemandLabs, _key
from labkit.ondemand.process import LabRecipe, Lease
from labkit.platform import Platform
from labkit.settings import ControlSettings, LabSettings, ProductSettings, SolutionSettings
from tests.control.over_http.caller import Caller
from tests.forked_starts import forking
from tests.guard import PATIENCE

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from
MOST = 4


@dataclass
class Served:
    """A served lab that starts others. caller: client of its control."""

    labs: OnDemandLabs
    caller: Caller
    address: ControlAddress
    stack: AsyncExitStack

    async def start(self, **arguments: Any) -> tuple[dict[str, Any], Caller]:
        """Start a lab, and return what the operation does, and a client of the lab's control."""
        started = await self.caller.result("labs.start", **arguments)
        return started, Caller(await self.client(started["url"], started["token"]))

    async def client(self, url: str, token: str) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"}
        return await self.stack.enter_async_context(
            httpx.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE)
        )


@pytest.fixture
async def served(tmp_path: Path, fork_server: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    if fork_server:
        monkeypatch.setattr(fork_servers, "subprocess", forking(fork_server))
    settings = LabSettings(https_port=0, products=(ProductSettings(id="lamp", resources={"on": "string"}),))
    ca_file = tmp_path / "ca.pem"
    async with AsyncExitStack() as stack:
        platform = await stack.enter_async_context(Platform(settings, seed=7))
        ca_file.write_text(platform.context.address.ca_pem)
        labs = await stack.enter_async_context(aclosing(OnDemandLabs(platform, MOST, ca_file, tmp_path)))
        listener = control_listener(platform, ControlSettings(), tmp_path, labs=labs)
        address = await stack.enter_async_context(listener)
        made = Served(labs, Caller(httpx.AsyncClient()), address, stack)
        made.caller = Caller(await made.client(address.url, address.token))
        yield made


async def state(lab: Caller) -> list[Any]:
    keys = ("clock.state", "products.all", "faults.all", "mailbox.find", "journal.canonical")
    return [await lab.result("identities.all", product="lamp"), *[await lab.result(each) for each in keys]]


async def provision(lab: Caller) -> str:
    [given] = await lab.result("fleets.provision", product="lamp", identities=["l-1"])
    token: str = given["token"]
    return token


async def test_labs_share_the_authority_and_nothing_else(served: Served) -> None:
    (first, lab), (second, other), (third, seeded) = [await served.start(seed=each) for each in (7, 7, 8)]
    assert len({each["https_port"] for each in (first, second, third)}) == 3
    assert len({each["token"] for each in (first, second, third)}) == 3
    before = await state(other)
    token = await provision(lab)
    await lab.result("clock.advance", hours=1)
    await lab.result("products.add", settings={"id": "lock"})
    await lab.result("faults.add", fault={"where": "GET /onep:v1/stack/alias", "status": 503})
    await lab.result("solutions.add", settings={"id": "acme"})
    mail = {"from": "a@example.com", "to": "b@example.com", "subject": "s", "text": "t"}
    await lab.result("services.call", solution="acme", service="Email", operation="send", parameters=mail)

    async def write(to: dict[str, Any]) -> int:
        trusted = ssl.create_default_context(cafile=first["ca_file"])
        url = f"https://lamp.m2.lab.localhost:{to['https_port']}/onep:v1/stack/alias"
        async with httpx.AsyncClient(verify=trusted, proxy=to["proxy"]) as device:
            return (await device.post(url, headers={"X-Platform-CIK": token}, content="on=1")).status_code

    assert await write(first) == 204
    assert await state(other) == before
    assert await write(second) == 401
    assert await provision(other) == token != await provision(seeded)
    assert await write(second) == 204


async def test_labs_are_counted_and_those_that_end_are_told_of(served: Served) -> None:
    started = [(await served.start(note=f"test {number}"))[0] for number in range(MOST)]
    full = await served.caller.post("labs.start")
    assert (full.status_code, full.headers["Retry-After"]) == (429, "1")
    assert full.json()["detail"] == "4 labs are running, the most that --labs allows: end one of them"
    killed, ended = started[0], started[1]
    requests = await served.client(killed["url"], killed["token"])
    assert (await requests.post("/v1/clock/state")).status_code == 200
    listed = await served.caller.result("labs.all")
    link = await served.caller.result("labs.page", id=started[2]["id"])
    assert link.startswith(f"{started[2]['url']}/#code=")
    assert {each["lease"] for each in listed} == {60}
    assert [(each["note"], each["seed"], each["requests"]) for each in listed] == [
        ("test 0", 7, 1),
        *[(f"test {number}", 7, 0) for number in range(1, MOST)],
    ]
    processes = [psutil.Process(each.pid) for each in served.labs._labs.values()]

    async with served.caller.client.stream("POST", "/v1/labs/follow", json={"id": killed["id"]}) as follow:
        processes[0].kill()
        events = "".join([line async for line in follow.aiter_lines()])
    reason = f"the lab {killed['id']} has ended: its process ended: it was killed, or found no memory"
    assert "it was killed, or found no memory" in events
    told = await requests.post("/v1/clock/state")
    assert (told.status_code, told.json()["detail"]) == (410, reason)
    assert await served.caller.refused("labs.renew", id=killed["id"]) == (404, reason)

    await served.caller.result("labs.renew", id=ended["id"])
    await served.caller.result("labs.end", id=ended["id"])
    gone = f"the lab {ended['id']} has ended: it was ended"
    assert await served.caller.refused("labs.end", id=ended["id"]) == (404, gone)
    assert len(await served.caller.result("labs.all")) == MOST - 2
    await served.labs.aclose()
    assert (await asyncio.to_thread(psutil.wait_procs, processes, PATIENCE))[1] == []


async def test_a_lab_ends_once_its_lease_is_over(served: Served) -> None:
    started = await served.caller.result("labs.start", settings={"guard": {"lease": 0.01}})
    for lab in list(served.labs._labs.values()):
        assert await lab.ended == "no request renewed its lease of 0.01 s"
    status, detail = await served.caller.refused("labs.renew", id=started["id"])
    assert (status, detail[-38:]) == (404, "no request renewed its lease of 0.01 s")


async def test_open_and_waiting_requests_keep_a_lease() -> None:
    waiting = [True]
    lease = Lease(0.005, lambda: bool(waiting))
    ended = asyncio.create_task(lease.wait())
    await asyncio.sleep(0.03)
    with lease.request():
        waiting.clear()
        await asyncio.sleep(0.03)
        assert not ended.done()
    await ended
    assert lease.requests == 1


async def test_a_state_is_the_beginning_of_a_lab(served: Served, tmp_path: Path) -> None:
    def prepare() -> None:
        with Lab(seed=3) as lab:
            lab.product("lamp", resources={"on": "string"}).device("l-1").activate()
            lab.snapshot().save(tmp_path / "warm")

    await asyncio.to_thread(prepare)
    started, lab = await served.start(state="warm")
    assert started["seed"] == 3
    [device] = await lab.result("identities.all", product="lamp")
    assert device["identity"] == "l-1"
    assert (await served.caller.refused("labs.start", state="cold"))[1].startswith("state: cannot read ")


async def test_labs_go_on_without_the_template_that_was_used_least_recently(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labs_module, "TEMPLATES", 1)
    _, lab = await served.start(seed=1)
    await served.start(seed=2)
    assert len(served.labs._templates) <= 1
    assert await provision(lab)


def test_labs_have_one_template_while_their_settings_seed_and_files_are_equal(tmp_path: Path) -> None:
    (script := tmp_path / "endpoints.lua").touch()

    def key(seed: int = 7) -> object:
        solution = SolutionSettings(id="acme", path=(tmp_path,))
        return _key(LabRecipe(LabSettings(solutions=(solution,)), seed, None, Authority.create(), None))

    before = key()
    assert key() == before != key(8)
    os.utime(script, (0, 0))
    assert key() != before


async def test_what_no_lab_on_demand_can_have_is_refused_by_name(served: Served) -> None:
    for settings, said in (
        ({"keystore": "redis://r"}, "keystore: redis://r: labs on demand would share it"),
        ({"https_port": 8443}, "https_port: not for a lab on demand"),
        ({"products": [{"id": "a"}, {"id": "a"}]}, "products[1].id: 'a' is there already"),
    ):
        status, detail = await served.caller.refused("labs.start", settings=settings)
        assert (status, detail[: len(said)]) == (400, said)
    _, lab = await served.start()
    assert (await lab.refused("labs.all"))[1].startswith("this lab starts no others")


async def test_python_connects_to_a_lab_of_its_own(served: Served) -> None:
    def use() -> list[Any]:
        with Lab.connect(served.address.url, served.address.token, new=True, seed=5) as lab:
            lab.product("lamp").device("l-1").activate().write(on="1")
            with pytest.raises(LabError, match="seed: a lab that runs has one already"):
                Lab.connect(served.address.url, served.address.token, seed=5)
            return [lab.seed, lab.product("lamp").device("l-1").read("on")]

    assert await asyncio.to_thread(use) == [5, {"on": "1"}]
    assert served.labs._labs == {}
    served.labs._most = 0
    with pytest.raises(FullError, match="0 labs are running"):
        await asyncio.to_thread(use)


async def test_a_system_that_cannot_fork_starts_a_process_for_each(
    served: Served,
) -> None:
    server, served.labs._server = served.labs._server, None
    if server is not None:
        await asyncio.to_thread(server.close)
    _, lab = await served.start(seed=9)
    assert await provision(lab)
