"""Faults that restart the platform: what clients meet does not depend on how long the restart takes.

The same steps are played again and again: beside a busy thread, and with clients whose reads are up to 4 ms late.
"""

from __future__ import annotations

import random
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from labkit import Behaviour, DeviceError, Lab, NoAnswerError
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.transport import Transport
from labkit.lab.run_options import Transport as Way
from tests.replays import late_reads
from tests.sizes import size

pytestmark = [pytest.mark.sampled, pytest.mark.timeout(300)]
ALIAS = "/onep:v1/stack/alias"
LUA = 'Keystore.set({key = "n", value = data.value[2]}) Keystore.get({key = "n"})'
RESOURCES: dict[str, str | dict[str, object]] = {"message": "string"}
WHERE = [
    (f"POST {ALIAS}", "before"),
    (f"POST {ALIAS}", "after"),
    ("GET /n", "after"),
    ("Keystore.set", "before"),
    ("Keystore.get", "after"),
    ("device datapoint", None),
]
IDS = [f"{where.split()[-1]} {when}" for where, when in WHERE]
Played = tuple[list[str], str]  # what the client met, and the journal
Ask = Callable[[Callable[[], object]], None]


@contextmanager
def _started(where: str, when: str | None, **more: object) -> Iterator[tuple[Lab, list[str], Ask]]:
    seen: list[str] = []

    def ask(request: Callable[[], object]) -> None:
        try:
            seen.append(repr(request()))
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            # httpx sends a body after its head: whether it notices the end at the second write is the system's.
            seen.append("refused" if isinstance(error, httpx.ConnectError) else "no answer")
        except (httpx.TransportError, DeviceError) as error:
            seen.append(f"{type(error).__name__}: {error}")

    with Lab(seed=7) as lab:
        product = lab.product("thermostat", resources=RESOURCES)
        acme = lab.solution("acme", products=[product])
        acme.on("device", "datapoint", lua=LUA)
        acme.route("GET", "/n", lua='return Keystore.get({key = "n"})')
        if when is not None:
            more["when"] = when
        lab.faults.add(where, restart=True, **more)  # type: ignore[arg-type]
        yield lab, seen, ask


def _handles(where: str, when: str | None, **more: object) -> Played:
    """Two devices and a client of a solution, which never wait for the platform."""
    with _started(where, when, **more) as (lab, seen, ask):
        devices = [lab.product("thermostat").device(f"d{number}").activate() for number in range(2)]
        for turn in range(4):
            for device in devices:
                ask(lambda device=device, turn=turn: device.write(message=str(turn)))  # type: ignore[misc]
            ask(lambda: lab.solution("acme").get("/n").text)
            ask(lambda: devices[0].read("message"))
        lab.settle()
        return seen, lab.journal.canonical()


def _httpx(where: str, when: str | None, **more: object) -> Played:
    """A client with connections of its own. It waits for handlers, which run beside it."""
    with _started(where, when, **more) as (lab, seen, ask):
        token = lab.product("thermostat").device("d0").activate().credentials.token
        hosts = {name: f"{name}:{lab.address.https_port}" for name in lab.hosts}
        device, acme = lab.product("thermostat").domain, lab.solution("acme").domain
        context = ssl.create_default_context(cadata=lab.address.ca_pem)
        base = f"https://127.0.0.1:{lab.address.https_port}"
        with httpx.Client(verify=context, base_url=base, trust_env=False) as client:

            def send(method: str, host: str, path: str, **options: Any) -> object:
                headers = {"Host": hosts[host], "X-Platform-CIK": token or ""}
                extensions = {"sni_hostname": host}
                response = client.request(method, path, headers=headers, extensions=extensions, **options)
                lab.settle()
                return response.status_code, response.text

            for turn in range(4):
                ask(lambda turn=turn: send("POST", device, ALIAS, data={"message": str(turn)}))  # type: ignore[misc]
                ask(lambda: send("GET", acme, "/n"))
                ask(lambda: send("GET", device, "/timestamp"))
            lab.settle()
        return seen, lab.journal.canonical()


class Insists(Behaviour):
    """Behaviour that writes, and at once again where it got no answer."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            for _ in range(5):
                try:
                    await device.write(message=str(device.number))
                    break
                except (DeviceError, NoAnswerError) as error:
                    device.note(f"{device.notes.get('note', '')} {getattr(error, 'kind', 'refused')}")
            await device.sleep(self.random.choice([30, 60]))


def _fleet(way: Way) -> Callable[..., Played]:
    def played(where: str, when: str | None, **more: object) -> Played:
        with _started(where, when, chance=0.25, **more) as (lab, _, _):
            run = lab.product("thermostat").fleet(5, Insists()).run(minutes=6, transport=way, requests=True)
            assert not run.failed
            notes = [str(each) for each in run.devices()["note"]] if "note" in run.devices() else []
            return [*notes, run.requests().to_csv()], lab.journal.canonical()

    return played


@contextmanager
def _busy() -> Iterator[None]:
    """Compete for the interpreter."""
    over = threading.Event()

    def spin() -> None:
        while not over.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.sampled
@pytest.mark.parametrize("down", [0, 30])
@pytest.mark.parametrize(("where", "when"), WHERE, ids=IDS)
@pytest.mark.parametrize(
    "way", [_handles, _httpx, _fleet("tls"), _fleet("memory")], ids=["handles", "httpx", "tls", "memory"]
)
def test_all_starts_are_equal(
    way: Callable[..., Played], where: str, when: str | None, down: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    more: dict[str, object] = {"down": down} if down else {}
    if way in (_handles, _httpx):
        more["first"] = 2
    first = way(where, when, **more)
    starts = [way(where, when, **more) for _ in range(size(1, 20))]
    with _busy():
        starts += [way(where, when, **more) for _ in range(size(1, 20))]
    monkeypatch.setattr(Transport, "_readable", late_reads(random.Random(1)))
    starts += [way(where, when, **more) for _ in range(size(1, 20))]
    assert all(each == first for each in starts)
    assert "lost its power" in first[1] or where == "GET /n"
    refused = any("refused" in each for each in first[0])
    assert refused == bool(down and "lost its power" in first[1])
