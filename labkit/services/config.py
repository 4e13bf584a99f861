"""Config: what a solution may know of itself and of the services it uses."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Secret

from labkit.context import Context
from labkit.core.errors import ServiceError
from labkit.services.bounds import fits, shown_name
from labkit.services.operation import Caller, Service, operation

BUSINESS = "labkit"
MOST = 65_536


class Config(Service):
    """Describes a solution and keeps the configuration of its services.

    Not offered: `usage` and `updateEnv`; the events `service` and `status` are not raised.
    """

    name: ClassVar[str] = "Config"

    def __init__(self, context: Context) -> None:
        self._context = context

    @operation
    async def solution(self, caller: Caller) -> dict[str, object]:
        """The calling solution: id, name, domain (with the port unless 443), products (list of ids), business_id."""
        solution = self._context.solutions.get(caller.solution)
        return {
            "id": solution.id,
            "name": solution.id,
            "domain": self._context.url(solution.domain).removeprefix("https://"),
            "products": list(solution.products),
            "business_id": BUSINESS,
        }

    @operation
    async def getParameters(self, caller: Caller, service: str) -> dict[str, object]:
        """The configured parameters of a service. 404 where there is no such service."""
        found = self._context.configuration.get(caller.solution, {}).get(self._known(service), {})
        return {"parameters": dict(found)}

    @operation
    async def setParameters(
        self, caller: Caller, service: str, parameters: Secret[dict[str, Any]]
    ) -> dict[str, object]:
        """Set parameters of a service; those not named stay. 404 where there is no such service.

        400 where they would hold more than MOST characters and items in all.
        """
        name = self._known(service)
        configured = self._context.configuration.setdefault(caller.solution, {})
        changed = {**configured.get(name, {}), **parameters.get_secret_value()}
        if not fits(changed, MOST):
            raise ServiceError(
                400, f"The parameters of a service may hold {MOST} characters and items in all."
            )
        configured.setdefault(name, {}).update(changed)
        return {"parameters": changed}

    @operation
    async def listServices(self, caller: Caller, type: str | None = None) -> list[dict[str, object]]:
        """The services that scripts can call (type `core`) and the solution's products (type `product`)."""
        products = self._context.solutions.get(caller.solution).products
        kinds = [("core", name) for name in self._context.services.names()] + [
            ("product", each) for each in products
        ]
        return [
            {"id": f"{caller.solution}.{name}", "type": kind, "service": name, "script_key": name.lower()}
            for kind, name in kinds
            if type in (None, kind)
        ]

    def _known(self, service: str) -> str:
        """A service's own name, whatever the letter case: scripts also use the lower-case one."""
        for name in self._context.services.names():
            if name.lower() == service.lower():
                return name
        raise ServiceError(404, f"Service {shown_name(service)} Not Found")
