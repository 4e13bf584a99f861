"""Config: what a solution learns of itself, and the parameters of its services."""

from typing import Any, ClassVar

from labkit.services.calls import Services
from labkit.services.config import Config
from labkit.services.operation import Caller, Service
from tests.context import Entry, make_context

ACME = {
    "id": "acme",
    "name": "acme",
    "domain": "acme.apps.lab.localhost:8443",
    "products": ["thermostat"],
    "business_id": "labkit",
}


class Notify(Service):
    """A service to configure."""

    name: ClassVar[str] = "Notify"


class Place:
    def __init__(self) -> None:
        context = make_context(Entry("acme", ("thermostat",)), Entry("other"))
        self.configurations = context.configuration
        self.configurations["acme"] = {"Notify": {"AccountSid": "AC1"}}
        self.journal = context.journal
        self.services = Services(context, [Config(context), Notify()])

    async def call(self, operation: str, solution: str = "acme", **parameters: Any) -> Any:
        return await self.services.call(Caller(solution), "Config", operation, parameters)


async def test_solution_describes_the_caller() -> None:
    place = Place()
    assert await place.call("solution") == ACME
    assert (await place.call("solution", solution="other"))["products"] == []


async def test_parameters_are_the_callers_own() -> None:
    place = Place()
    assert await place.call("getParameters", service="notify") == {"parameters": {"AccountSid": "AC1"}}
    assert await place.call("getParameters", "other", service="Notify") == {"parameters": {}}


async def test_set_parameters_merges_and_counts_as_configuration() -> None:
    place = Place()
    result = await place.call("setParameters", service="notify", parameters={"AuthToken": "s3cret"})
    assert result == {"parameters": {"AccountSid": "AC1", "AuthToken": "s3cret"}}
    assert place.configurations["acme"]["Notify"] == {"AccountSid": "AC1", "AuthToken": "s3cret"}
    await place.call("setParameters", "other", service="Notify", parameters={"x": 1})
    assert place.configurations["other"] == {"Notify": {"x": 1}}


async def test_what_is_configured_never_reaches_the_journal() -> None:
    place = Place()
    await place.call("setParameters", service="Notify", parameters={"AuthToken": "s3cret"})
    assert "s3cret" not in place.journal.canonical()


async def test_an_unknown_service_is_not_found() -> None:
    place = Place()
    for operation in ("getParameters", "setParameters"):
        error = await place.call(operation, service="Nope", parameters={})
        assert (error["status"], error["error"]) == (404, "Service Nope Not Found")


async def test_list_services() -> None:
    place = Place()
    listed = await place.call("listServices")
    assert [(each["type"], each["service"]) for each in listed] == [
        ("core", "Config"),
        ("core", "Notify"),
        ("product", "thermostat"),
    ]
    assert [each["service"] for each in await place.call("listServices", type="product")] == ["thermostat"]
    assert await place.call("listServices", "other", type="product") == []
