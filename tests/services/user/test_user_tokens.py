"""User tokens: what they carry, when they die, and what is no token."""

from __future__ import annotations

import jwt
import pytest

from labkit.services.user import user_tokens
from tests.services.user.place import Place


async def test_a_token_leads_to_its_user(place: Place) -> None:
    await place.person("bob")
    ann = await place.person("ann")
    assert await user_tokens.user_of(place.parts, "acme", await place.token(ann)) == ann


@pytest.mark.parametrize(("after", "alive"), [(59, True), (60, False), (61, False)])
async def test_a_token_is_dead_at_its_last_second(place: Place, after: int, alive: bool) -> None:
    token = await place.token(await place.person(), 60)
    await place.clock.advance(after)
    assert (await user_tokens.user_of(place.parts, "acme", token) is not None) == alive


async def test_a_token_carries_its_user_solution_and_times(place: Place) -> None:
    ann = await place.person()
    claims = jwt.decode(await place.token(ann, 60), options={"verify_signature": False})
    now = place.clock.seconds()
    assert claims.pop("jti")
    assert claims == {
        "sub": str(ann.id),
        "iss": "acme",
        "iat": now,
        "nbf": now,
        "exp": now + 60,
        "gen": 0,
    }
