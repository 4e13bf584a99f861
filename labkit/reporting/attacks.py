"""Table of the attacks on the OAuth provider, executed on a notebook's lab."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from labkit.conformance.user.oauth.attacks import ATTACKS, Actor, attempt

if TYPE_CHECKING:
    import pandas

    from labkit.lab.lab import Lab
    from labkit.lab.solution import Solution


async def attack_frame(lab: Lab, solution: Solution) -> pandas.DataFrame:
    """Execute every attack on the User service of a solution. Returns a DataFrame with a row for each, by group.

    Both the honest user and the attacker have an account and a client. Attacks that need time advance the lab's virtual
    clock.
    """
    import pandas

    def actor(name: str) -> Actor:  # with a user token that outlives every attack that needs time
        email, password = f"{name}@example.com", "correct horse"
        solution.User.activateUser(code=solution.User.createUser(email=email, name=name, password=password))
        token = solution.User.getUserToken(email=email, password=password, time_to_live=10**9)
        return Actor(solution.User.getCurrentUser(token=token)["id"], token)

    async def call(operation: str, **parameters: Any) -> Any:
        with warnings.catch_warnings():  # of unknown parameters, which some attacks send on purpose
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
