"""Functions and classes that replace services which a lab does not have."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from labkit import Caller, Lab, LabError, LabWarning, Service, ServiceError, SettingsError, operation
from labkit.lab.portal import Portal
from labkit.lab.solution import Solution
from tests.guard import PATIENCE


@pytest.fixture
def acme(lab: Lab) -> Solution:
    return lab.solution("acme")


class Weather(Service):
    """A class that defines only operations."""

    name = "Weather"

    @operation
    async def forecast(self, caller: Caller, place: str, days: int = 1) -> list[str]:
        """Return a forecast."""
        return [f"rain in {place} for {caller.solution}"] * days


def test_lua_python_and_cells_can_call_it_and_the_journal_records_it(lab: Lab, acme: Solution) -> None:
    sent: list[dict[str, Any]] = []
    threads: set[str] = set()

    def post(to: str, text: str = "", **others: object) -> dict[str, object]:
        sent.append({"to": to, "text": text, **others})
        threads.add(threading.current_thread().name)
        return {"sid": len(sent)}

    added = lab.service("Twilio", postMessage=post)
    acme.route("POST", "/lua", lua='return Twilio.postMessage({to = request.body.to, AccountSid = "AC1"})')

    async def from_async(request: Any, services: Any) -> object:
        return await services.Twilio.postMessage(to=request.body["to"])

    def from_sync(request: Any, services: Any) -> object:
        return services.Twilio.postMessage(to=request.body["to"])

    acme.route("POST", "/async", from_async)
    acme.route("POST", "/sync", from_sync)
    assert acme.post("/lua", json={"to": "1"}).json() == {"sid": 1}
    assert acme.post("/async", json={"to": "2"}).json() == {"sid": 2}
    assert acme.post("/sync", json={"to": "3"}).json() == {"sid": 3}
    assert acme.Twilio.postMessage(to="4") == {"sid": 4}
    assert lab.solution("other").call("Twilio", "postMessage", {"to": "5"}) == {"sid": 5}
    assert [each["to"] for each in sent] == ["1", "2", "3", "4", "5"]
    assert sent[0]["AccountSid"] == "AC1"
    assert not any(name in ("MainThread", "labkit") for name in threads)
    calls = [each for each in lab.journal.select("call") if each.summary == "Twilio.postMessage"]
    assert [each.actor for each in calls] == ["acme"] * 4 + ["other"]
    assert calls[0].cause is not None
    assert len(added.calls) == 5


def test_an_event_handler_may_call_it(lab: Lab) -> None:
    product = lab.product("t", resources={"message": "string"})
    got: list[str] = []

    def take(value: str) -> None:
        got.append(value)

    lab.service("Sink", take=take)
    solution = lab.solution("acme", products=product)
    solution.on("device", "datapoint", lua="Sink.take({value = data.value[2]})")
    product.device("d").activate().write(message="x")
    lab.settle()
    assert got == ["x"]


def test_it_completes_in_cells(lab: Lab, acme: Solution) -> None:
    def post(to: str, text: str = "hi") -> None:
        """Sends a message."""

    added = lab.service("Twilio", postMessage=post)
    assert "Twilio" in dir(acme)
    assert dir(acme.Twilio) == ["postMessage"]
    assert acme.Twilio.postMessage.__doc__ == "Sends a message."
    assert str(inspect.signature(acme.Twilio.postMessage)) == "(*, to: str, text: str = 'hi')"
    assert repr(added) == "<service Twilio: postMessage>"
    assert "Sends a message." in added._repr_html_()
    with pytest.warns(LabWarning, match=r"txt is not a parameter of postMessage; did you mean text\?"):
        acme.Twilio.postMessage(to="1", txt="x")


def test_a_call_of_a_known_service_crosses_to_the_labs_thread_once(
    acme: Solution, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme.Keystore.set(key="x", value="1")
    crossings = []
    begin = Portal.begin

    def counted(self: Portal, function: Any, *args: Any, **kwargs: Any) -> Any:
        crossings.append(function)
        return begin(self, function, *args, **kwargs)

    monkeypatch.setattr(Portal, "begin", counted)
    assert acme.Keystore.get(key="x") == {"value": "1"}
    assert len(crossings) == 1


def test_a_handle_shows_the_current_operations(lab: Lab, acme: Solution) -> None:
    """Also a change by another solution: its publication is a service of its subscribers."""
    lights = lab.solution("lights")
    lights.publish(operations=[{"name": "switch"}])
    subscription = acme.subscribe(lights)
    assert dir(acme.Lights) == ["switch"]
    lights.publish(operations=[{"name": "switch"}, {"name": "dim"}])
    assert dir(acme.Lights) == ["dim", "switch"]
    subscription.remove()
    assert "Lights" not in dir(acme)
    lab.product("thermostat", resources={})
    acme = lab.solution("acme", products=["thermostat"], aliases={"Warm": "thermostat"}, replace=True)
    assert "Warm" in dir(acme)
    lab.service("Twilio", call=lambda to: to)
    assert str(inspect.signature(acme.Twilio.call)) == "(*, to: Any)"
    lab.service("Twilio", call=lambda number: number)
    assert str(inspect.signature(acme.Twilio.call)) == "(*, number: Any)"


def test_a_class_can_be_a_service(lab: Lab, acme: Solution) -> None:
    lab.service(Weather)
    acme.route("GET", "/w", lua='return Weather.forecast({place = "Oslo", days = 2})')
    assert acme.get("/w").json() == ["rain in Oslo for acme"] * 2
    assert acme.Weather.forecast(days=1)["status"] == 400
    lab.service(Weather())
    assert len(acme.Weather.forecast(place="Rome")) == 1


def test_errors_are_objects(lab: Lab, acme: Solution) -> None:
    def refuse(**others: object) -> None:
        raise ServiceError(402, "pay first")

    def break_(**others: object) -> None:
        raise ValueError("oops")

    lab.service("Bank", refuse=refuse, break_=break_)
    acme.route(
        "GET", "/", lua="local a = Bank.refuse({}) return {a.status, a.error, Bank['break']({}).status}"
    )
    assert acme.get("/").json() == [402, "pay first", 500]


def test_a_cell_that_runs_again_replaces_it_but_no_service_of_the_platform(lab: Lab, acme: Solution) -> None:
    for number in (1, 2):
        lab.service("Twilio", postMessage=lambda number=number: number)
        assert acme.Twilio.postMessage() == number
    with pytest.raises(SettingsError, match="'Keystore' is the platform's own"):
        lab.service("Keystore", get=lambda: 1)
    with pytest.raises(LabError):
        lab.service("Twilio", postMessage=7)  # type: ignore[arg-type]
    assert acme.Twilio.postMessage() == 2
    for wrong in (7, str, None):
        with pytest.raises(LabError, match="service: expected a name, or a class of Service"):
            lab.service(wrong)  # type: ignore[arg-type]


def test_it_can_be_removed(lab: Lab, acme: Solution) -> None:
    added = lab.service("Twilio", postMessage=lambda: 1)
    assert acme.Twilio.postMessage() == 1
    added.remove()
    with pytest.warns(LabWarning, match="there is no service 'Twilio'; `stubs` in lab.yaml, or lab.service"):
        assert acme.call("Twilio", "postMessage")["status"] == 404
    with pytest.raises(AttributeError, match="no service 'Twilio'"):
        acme.Twilio  # noqa: B018
    with pytest.raises(LabError, match="no service 'Twilio'"):
        added.remove()


def test_two_labs_have_separate_services(lab: Lab, acme: Solution) -> None:
    with Lab(seed=7) as other:
        lab.service("Twilio", postMessage=lambda: "here")
        assert "Twilio" not in dir(other.solution("acme"))
        other.service("Twilio", postMessage=lambda: "there")
        assert acme.Twilio.postMessage() == "here"
        assert other.solution("acme").Twilio.postMessage() == "there"


def test_a_blocking_function_does_not_delay_others(lab: Lab, acme: Solution) -> None:
    go_on = threading.Event()

    def wait() -> str:
        assert go_on.wait(PATIENCE)
        return "done"

    async def quick() -> str:
        await asyncio.sleep(0)
        return "quick"

    lab.service("Mixed", wait=wait, quick=quick)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(acme.Mixed.wait) for _ in range(4)]
        assert acme.Mixed.quick() == "quick"
        go_on.set()
        assert [each.result() for each in waiting] == ["done"] * 4
