"""The attacks of the checks on the OAuth provider: a successful one is reported, and the table is complete."""

from __future__ import annotations

from collections import Counter

from labkit.conformance.user.oauth.attacks import ATTACKS, Actor, attempt
from labkit.conformance.user.oauth.client import CALLBACK
from tests.services.user.environment import Environment

GROUPS = {
    "codes",
    "redirects",
    "clients",
    "secrets",
    "grants",
    "refresh tokens",
    "access tokens",
    "bearer",
    "scopes",
    "ttl",
}
REPLAY = "replay with a wrong secret"


async def test_a_successful_attack_is_reported(env: Environment) -> None:
    async def lenient(operation: str, **parameters: object) -> object:
        """A provider that accepts any secret, and every redirect that begins like a registered one."""
        parameters.pop("client_secret", None)
        uri = str(parameters.get("redirect_uri"))
        if uri.startswith(CALLBACK):
            parameters["redirect_uri"] = CALLBACK
        return await env.call(operation, parameters)

    ann, mallory = [
        Actor(user.id, await env.token(user))
        for user in [await env.person(name) for name in ("ann", "mallory")]
    ]
    weak = {"redirects", "secrets"}
    outcomes = [
        outcome
        for attack in ATTACKS
        if attack.group in weak
        for outcome in await attempt([attack], lenient, ann, mallory)
    ]
    unanswered = {each.attack.name for each in outcomes if each.status is None}
    assert {"redirect with a slash more", "redirect with a query", "secret of another client"} <= unanswered
    assert "redirect with another client's" not in unanswered
    assert all(each.withstood for each in outcomes if each.attack.name not in unanswered | {REPLAY})
    assert [(each.status, each.honest) for each in outcomes if each.attack.name == REPLAY] == [
        (400, "revoked")
    ]


def test_the_table_is_complete() -> None:
    count = Counter(attack.group for attack in ATTACKS)
    assert set(count) == GROUPS
    assert sum(count.values()) >= 45
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert all(attack.rfc.startswith("RFC ") and attack.how.endswith(".") for attack in ATTACKS)
