"""Config: what a solution may know of itself and of the services it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any, ClassVar

from pydantic import Secret

from labkit.core.errors import ServiceError
from labkit.services.operation import Caller, Service, operation

Configurations = MutableMapping[str, dict[str, dict[str, Any]]]


class Config(Service):
    """Describes a solution and keeps the configuration of its services.

    describe: id, name, domain (with the port unless 443), products and business_id of a solution, by its id;
    configurations: solution id → service name → parameters, the same that `Services` takes defaults from;
    services: the names of all services.
    Not offered: `usage` and `updateEnv`; the events `service` and `status` are not raised.
    """

    name: ClassVar[str] = "Config"

    def __init__(
        self,
        describe: Callable[[str], Mapping[str, object]],
        configurations: Configurations,
        services: Callable[[], Iterable[str]],
    ) -> None:
        self._describe = describe
        self._configurations = configurations
        self._services = services

    @operation
    async def solution(self, caller: Caller) -> dict[str, object]:
        """The calling solution: id, name, domain, products (list of ids), business_id."""
        return dict(self._describe(caller.solution))

    @operation
    async def getParameters(self, caller: Caller, service: str) -> dict[str, object]:
        """The configured parameters of a service. 404 where there is no such service."""
        found = self._configurations.get(caller.solution, {}).get(self._known(service), {})
        return {"parameters": dict(found)}

    @operation
    async def setParameters(
        self, caller: Caller, service: str, parameters: Secret[dict[str, Any]]
    ) -> dict[str, object]:
        """Set parameters of a service; those not named stay. 404 where there is no such service."""
        name = self._known(service)
        kept = self._configurations.setdefault(caller.solution, {}).setdefault(name, {})
        kept.update(parameters.get_secret_value())
        return {"parameters": dict(kept)}

    @operation
    async def listServices(self, caller: Caller, type: str | None = None) -> list[dict[str, object]]:
        """The services that scripts can call (type `core`) and the solution's products (type `product`)."""
        products = self._describe(caller.solution)["products"]
        assert isinstance(products, Iterable)
        kinds = [("core", name) for name in self._services()] + [("product", each) for each in products]
        return [
            {"id": f"{caller.solution}.{name}", "type": kind, "service": name, "script_key": name.lower()}
            for kind, name in kinds
            if type in (None, kind)
        ]

    def _known(self, service: str) -> str:
        """A service's own name, whatever the letter case: scripts also use the lower-case one."""
        for name in self._services():
            if name.lower() == service.lower():
                return name
        raise ServiceError(404, f"Service {service} Not Found")
