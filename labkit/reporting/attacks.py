"""A table of the attacks on the OAuth provider, played on a lab that a notebook holds."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from labkit.conformance.user.oauth.attacks import ATTACKS, Actor, attempt

if TYPE_CHECKING:
    import pandas

    from labkit.lab.lab import Lab
    from labkit.lab.solution import Solution


async def attack_frame(lab: Lab, solution: Solution) -> pandas.DataFrame:
    """Play every attack on the User service of a solution, and give what came of each, a row each, by group.

    An honest client has somebody as its user; the attacker has an account and a client, too. The virtual clock of
    the lab moves on where an attack needs time.
    """
    import pandas

    def actor(name: str) -> Actor:  # their user tokens outlive every attack that needs time
        email, password = f"{name}@example.com", "correct horse"
        solution.User.activateUser(code=solution.User.createUser(email=email, name=name, password=password))
        token = solution.User.getUserToken(email=email, password=password, time_to_live=10**9)
        return Actor(solution.User.getCurrentUser(token=token)["id"], token)

    async def call(operation: str, **parameters: Any) -> Any:
        with warnings.catch_warnings():  # some send on purpose what the operation does not know
            warnings.simplefilter("ignore")
            return solution.call("User", operation, parameters)

    async def advance(seconds: float) -> None:
        lab.clock.advance(seconds=seconds)

    outcomes = await attempt(ATTACKS, call, actor("honest"), actor("mallory"), advance)
    rows = [
        [
            each.attack.group,
            each.attack.name,
            each.attack.rfc,
            each.status,
            each.code,
            each.honest,
            each.withstood,
        ]
        for each in outcomes
    ]
    columns = ["group", "attack", "source", "status", "error", "honest client", "withstood"]
    return pandas.DataFrame(rows, columns=columns).sort_values("group", kind="stable").set_index("group")
