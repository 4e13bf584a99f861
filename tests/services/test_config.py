"""Config: the description of a solution, and the parameters of its services."""

from typing import Any, ClassVar

from labkit.services.calls import Services
from labkit.services.config import Config
from labkit.services.operation import Caller, Service
from tests.context import Entry, make_context, open_database

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


class Environment:
    def __init__(self) -> None:
        context = make_context(Entry("acme", ("thermostat",)), Entry("other"))
        self.configurations = context.configuration
        self.configurations["acme"] = {"Notify": {"AccountSid": "AC1"}}
        self.journal = context.journal
        open_database(context)
        self.services = Services(context, [Config(context), Notify()])

    async def call(self, operation: str, solution: str = "acme", **parameters: Any) -> Any:
        return await self.services.call(Caller(solution), "Config", operation, parameters)


async def test_solution_describes_the_caller() -> None:
    environment = Environment()
    assert await environment.call("solution") == ACME
    assert (await environment.call("solution", solution="other"))["products"] == []


async def test_set_parameters_merges_and_configures_the_service() -> None:
    environment = Environment()
    result = await environment.call("setParameters", service="notify", parameters={"AuthToken": "s3cret"})
    assert result == {"parameters": {"AccountSid": "AC1", "AuthToken": "s3cret"}}
    assert environment.configurations["acme"]["Notify"] == {"AccountSid": "AC1", "AuthToken": "s3cret"}
    await environment.call("setParameters", "other", service="Notify", parameters={"x": 1})
    assert environment.configurations["other"] == {"Notify": {"x": 1}}


async def test_configured_values_never_reach_the_journal() -> None:
    environment = Environment()
    await environment.call("setParameters", service="Notify", parameters={"AuthToken": "s3cret"})
    assert "s3cret" not in environment.journal.canonical()


async def test_the_total_size_of_parameters_is_limited() -> None:
    environment = Environment()
    assert "parameters" in await environment.call(
        "setParameters", service="Notify", parameters={"a": "x" * 40_000}
    )
    refused = await environment.call("setParameters", service="Notify", parameters={"b": "x" * 40_000})
    assert (refused["status"], "may hold 65536 characters" in refused["error"]) == (400, True)
    assert "b" not in (await environment.call("getParameters", service="Notify"))["parameters"]
    missing = await environment.call("getParameters", service="N" * 10**6)
    assert (missing["status"], len(missing["error"]) < 100) == (404, True)
