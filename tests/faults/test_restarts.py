"""Faults that cut the platform's power within a request, a call, an event or an outgoing request."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from labkit import Behaviour, DeviceError, Lab, LabError, NoAnswerError
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.run_options import Transport
from labkit.platform import Platform
from labkit.settings import FaultSettings, LabSettings, build
from tests.context import make_context
from tests.guard import PATIENCE

pytestmark = pytest.mark.timeout(120)
ALIAS = "/onep:v1/stack/alias"
LUA = """
counted = (counted or 0) + 1
Keystore.set({key = "before", value = data.value[2] .. counted})
Keystore.set({key = "during", value = data.value[2] .. counted})
Keystore.set({key = "after", value = data.value[2] .. counted})
"""


@pytest.fixture(params=[False, True], ids=["memory", "data"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    with Lab(seed=7, data=str(tmp_path / "lab.db") if request.param else None) as lab:
        product = lab.product("thermostat", resources={"message": "string"})
        for name in ("acme", "other"):
            lab.solution(name, products=[product])
        lab.solution("acme").on("device", "datapoint", lua=LUA)
        product.device("t-1").activate()
        yield lab


def write(lab: Lab, text: str) -> None:
    lab.product("thermostat").device("t-1").write(message=text)
    lab.settle()


def kept(lab: Lab) -> dict[str, str | None]:
    """Return what the script of acme has stored."""
    keystore = lab.solution("acme").Keystore
    return {key: keystore.get(key=key).get("value") for key in ("before", "during", "after")}


@pytest.mark.parametrize(("when", "during"), [("before", None), ("after", "a1")])
def test_at_a_service_call(lab: Lab, when: Any, during: str | None) -> None:
    fault = lab.faults.add(
        "Keystore.set", restart=True, down=30, when=when, if_given={"key": "during"}, first=1
    )
    write(lab, "a")
    assert [(each.detail or {})["down"] for each in lab.journal.select("restart")] == [30]
    with pytest.raises(httpx.ConnectError):
        write(lab, "refused")
    lab.clock.advance(30)
    assert kept(lab) == {"before": "a1", "during": during, "after": None}
    assert lab.product("thermostat").device("t-1").read("message") == {"message": "a"}
    write(lab, "b")  # the global of the script is lost
    assert kept(lab) == {"before": "b1", "during": "b1", "after": "b1"}
    assert (fault.hits, fault.state) == (1, "ended")
    words = "restart" if when == "before" else "restart, after the work"
    assert fault.info.does == f"{words}, down 30 s, if_given key"


@pytest.mark.parametrize(("when", "stored"), [("before", {}), ("after", {"message": "a"})])
def test_at_a_request(lab: Lab, when: Any, stored: dict[str, str]) -> None:
    device = lab.product("thermostat").device("t-1")
    lab.faults.add(f"POST {ALIAS}", restart=True, when=when, first=1)
    with pytest.raises(httpx.RemoteProtocolError, match="without an answer"):
        device.write(message="a")
    lab.settle()
    assert device.read("message") == stored
    [record] = lab.journal.select("restart")
    [hit] = lab.journal.select("fault")
    assert hit.sequence < record.sequence
    assert lab.journal.select("call", "acme") == []
    device.write(message="b")
    lab.settle()
    assert device.read("message") == {"message": "b"}


def test_at_an_event_which_is_lost_although_its_datapoint_is_stored(lab: Lab) -> None:
    lab.faults.add("device datapoint", restart=True, first=1)
    with pytest.raises(httpx.RemoteProtocolError, match="without an answer"):
        write(lab, "a")
    lab.settle()
    [request] = [each for each in lab.journal.select("request") if ALIAS in each.summary]
    assert (request.status, request.detail) == (None, {"reason": "the platform lost its power"})
    assert kept(lab) == {"before": None, "during": None, "after": None}
    assert lab.product("thermostat").device("t-1").read("message") == {"message": "a"}
    write(lab, "b")
    assert kept(lab)["after"] == "b1"
    assert len(lab.journal.select("restart")) == 1


def test_a_call_of_a_cell_is_no_work_of_the_platform_and_gets_an_error(lab: Lab) -> None:
    lab.faults.add("Keystore.set", restart=True, when="after", solution="other", first=1, name="é")
    answer = lab.solution("other").Keystore.set(key="a", value="b")
    assert (answer["status"], answer["error"]) == (503, "the platform lost its power: fault é")
    assert lab.solution("other").Keystore.get(key="a") == {"value": "b"}
    assert len(lab.journal.select("restart")) == 1


def test_python_handlers_and_routes_see_the_end(lab: Lab) -> None:
    seen: list[str] = []
    ended = threading.Event()  # of the handler's thread, which nothing of the lab waits for any more

    def handle(data: Any, services: Any) -> None:
        try:
            services.Keystore.set(key="n", value="1")
        except LabError as error:
            seen.append(str(error))
            ended.set()
            raise

    other = lab.solution("other")
    other.on("device", "datapoint", handle)
    other.route("GET", "/store", lua='return Keystore.set({key = "r", value = "1"})')
    lab.faults.add("Keystore.set", restart=True, solution="other", first=2)
    write(lab, "a")
    with pytest.raises(Exception, match=r"disconnected|closed|reset|without"):
        other.get("/store")
    lab.settle()
    assert ended.wait(PATIENCE)
    assert seen == ["the platform was restarted while this handler waited for a service"]
    assert other.get("/store").status_code == 200
    assert len(lab.journal.select("restart")) == 2


def test_two_hits_at_one_moment_are_one_restart(lab: Lab) -> None:
    lab.solution("other").on("device", "datapoint", lua=LUA)
    lab.faults.add("Keystore.set", restart=True)
    lab.faults.add("device datapoint", delay=5)
    write(lab, "a")
    lab.clock.advance(5)
    assert len(lab.journal.select("restart")) == 1
    lab.faults.clear()
    write(lab, "b")
    assert kept(lab)["after"] == "b1"


def test_a_delayed_call_is_met_by_the_restart_at_its_end(lab: Lab) -> None:
    lab.faults.add("Keystore.set", delay=5, restart=True, if_given={"key": "during"}, first=1)
    write(lab, "a")
    assert len(lab.journal.select("restart")) == 0
    assert lab.drain().seconds == 5
    assert kept(lab) == {"before": "a1", "during": None, "after": None}


async def test_work_of_a_restart_does_not_begin_another_one() -> None:
    async with Platform(LabSettings(https_port=0, solutions=[{"id": "acme"}]), seed=7) as platform:
        platform.context.faults.add(build(FaultSettings, {"where": "Keystore.set", "restart": True}))
        answers: list[object] = []

        async def set_again() -> None:
            answers.append(await platform.call("acme", "Keystore", "set", {"key": "a", "value": "b"}))

        stop = platform.power.notice_restarts(set_again)
        await platform.restart()
        await set_again()
        stop()
        assert [each["status"] for each in answers] == [503] * 3  # type: ignore[index]
        restarts = [each for each in platform.context.journal if each.kind == "restart"]
        assert len(restarts) == 2


async def test_an_outgoing_request() -> None:
    for when, sent in (("before", 0), ("after", 1)):
        context = make_context()
        asked: list[object] = []
        cut: list[float] = []
        context.faults.add(
            build(FaultSettings, {"where": "https://a.example", "restart": True, "when": when, "down": 3})
        )

        async def send(*_: object, asked: list[object] = asked) -> tuple[int, str]:
            asked.append(1)
            return 200, "own"

        async def restart(down: float, cut: list[float] = cut) -> None:
            cut.append(down)

        context.faults.restart = restart
        assert context.faults.outgoing is not None
        with pytest.raises(OSError, match="fault 1"):
            await context.faults.outgoing.around("GET", "https://a.example", {}, None, send)
        assert (len(asked), cut) == (sent, [3])


class Counts(Behaviour):
    """Behaviour that writes each minute, notes what it met, and tries again ten seconds later."""

    async def run(self, device: FleetDevice) -> None:
        met: list[str] = []
        while True:
            try:
                await device.write(message=str(len(met)))
                met.append("ok")
            except (DeviceError, NoAnswerError) as error:
                met.append(getattr(error, "kind", "refused"))
                await device.sleep(10)
                continue
            finally:
                device.note(" ".join(met))
            await device.sleep(60)


@pytest.mark.sampled
@pytest.mark.parametrize("transport", ["memory", "tls"])
@pytest.mark.parametrize(
    ("where", "more"),
    [
        ("Keystore.set", {"chance": 0.1}),
        ("Keystore.set", {"chance": 0.1, "when": "after", "delay": [0.5, 3]}),
        (f"POST {ALIAS}", {"chance": 0.1, "when": "after"}),
        (f"POST {ALIAS}", {"chance": 0.1, "when": "before"}),
        ("device datapoint", {"chance": 0.1}),
    ],
    ids=range(5),
)
def test_in_the_run_of_a_fleet_and_again_byte_for_byte(
    transport: Transport, where: str, more: dict[str, Any]
) -> None:
    def play() -> tuple[str, list[str]]:
        with Lab(seed=7) as lab:
            product = lab.product("thermostat", resources={"message": "string"})
            lab.solution("acme", products=[product]).on("device", "datapoint", lua=LUA)
            lab.faults.add(where, restart=True, down=5, **more)
            run = product.fleet(4, Counts()).run(minutes=30, transport=transport)
            assert len(lab.journal.select("restart")) > 2
            return lab.journal.canonical(), list(run.devices()["note"])

    first = play()
    assert play() == first
