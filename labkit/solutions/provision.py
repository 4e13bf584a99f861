"""Provision of what a solution's folder describes: resources of its products, and roles of its people."""

from __future__ import annotations

from labkit.context import Context
from labkit.core.errors import SettingsError
from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.solutions.folders.specs import ROLES, RoleEntry
from labkit.solutions.solution import PlatformSolution

TAKEN = 409  # status of createRole for a role that exists


async def provide_for(solution: PlatformSolution, context: Context, services: Services) -> None:
    """Add what a solution's folder describes and the lab lacks; warn of what is refused.

    Resources go to each of its products whose own settings name none; existing roles get the parameters that they lack.
    """
    if solution.folder.resources:
        for product in solution.products:
            try:
                context.products.get(product).adopt_resources(solution.folder.resources)
            except SettingsError as error:
                solution.warn(f"specs/resources.yaml: {error}")
    for role in solution.folder.roles:
        await _create(role, solution, services)


async def _create(role: RoleEntry, solution: PlatformSolution, services: Services) -> None:
    """Create a role, or add the parameters that it lacks."""
    caller = Caller(solution.id)
    given = {"role_id": role.role_id, "parameter": list(role.parameter)}
    made = await services.call(caller, "User", "createRole", given)
    if isinstance(made, dict) and made.get("status") == TAKEN and role.parameter:
        more = {"role_id": role.role_id, "body": list(role.parameter)}
        made = await services.call(caller, "User", "addRoleParam", more)
    if isinstance(made, dict) and made.get("status", TAKEN) != TAKEN:
        solution.warn(f"{ROLES}: role {role.role_id!r}: {made.get('message', made.get('error'))}")
