"""User tokens: login, claims, expiry, and invalid tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jwt
import pytest

from tests.services.user.environment import Environment

PASSWORD = "correct horse"


def claims_of(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return claims


async def alive(env: Environment, token: str, solution: str = "acme") -> bool:
    """Return whether getCurrentUser accepts a token: it returns the user or 401."""
    result = await env.call("getCurrentUser", token=token, solution=solution)
    assert "id" in result or (result["type"], result["status"]) == ("QueryError", 401)
    return "id" in result


class TestLogin:
    async def test_the_lifetime_can_be_configured(self, env: Environment) -> None:
        await env.person("ann", PASSWORD)
        env.configuration["acme"] = {"User": {"time_to_live": 60}}
        claims = claims_of(await env.call("getUserToken", email="ann@example.com", password=PASSWORD))
        assert claims["exp"] - claims["iat"] == 60

    async def test_failed_logins_have_the_same_answer_after_one_verification(self, env: Environment) -> None:
        await env.person("ann", PASSWORD)
        said = set()
        for email, password in [
            ("ann@example.com", "wrong horse"),
            ("eve@example.com", PASSWORD),
            ("no address", ""),
            ("\udc80", ""),
        ]:
            before = env.passwords.verifications
            error = await env.refused("getUserToken", email=email, password=password)
            assert env.passwords.verifications == before + 1
            said.add((error["status"], error["error"]))
        assert said == {(401, '{"statusCode": 401, "message": "Email or password is wrong."}')}

    async def test_login_requires_activation(self, env: Environment) -> None:
        code = await env.call("createUser", email="ann@example.com", name="Ann", password=PASSWORD)
        for password, status, words in [
            (PASSWORD, 400, "User is not active."),
            ("wrong", 401, "Email or password is wrong."),
        ]:
            error = await env.refused("getUserToken", email="ann@example.com", password=password)
            assert (error["status"], error["status_code"], error["message"]) == (status, status, words)
        assert env.passwords.verifications == 2
        await env.call("activateUser", code=code)
        token = await env.call("getUserToken", email="ann@example.com", password=PASSWORD)
        assert await alive(env, token)

    async def test_a_password_that_is_too_long_to_hash_is_refused(self, env: Environment) -> None:
        error = await env.refused("getUserToken", email="ann@example.com", password="x" * 1025)
        assert error["status"] == 400
        assert env.passwords.verifications == 0


class TestToken:
    async def test_it_has_its_user_solution_and_times(self, env: Environment) -> None:
        ann = await env.person()
        first, second = [claims_of(await env.token(ann, 60)) for _ in range(2)]
        assert first.pop("jti") != second.pop("jti")
        now = env.clock.seconds()
        claims = {"sub": "1", "iss": "acme", "iat": now, "nbf": now, "exp": now + 60, "gen": 0}
        assert first == second == claims


class TestForgery:
    @pytest.mark.parametrize(
        "forge",
        [
            lambda claims, secret: jwt.encode(claims, b"x" * 64),
            lambda claims, secret: jwt.encode(claims, "", algorithm="none"),
            lambda claims, secret: jwt.encode(claims, secret, algorithm="HS512"),
            lambda claims, secret: jwt.encode({**claims, "iss": "other"}, secret),
            lambda claims, secret: jwt.encode({**claims, "nbf": claims["nbf"] + 1}, secret),
            lambda claims, secret: jwt.encode({**claims, "gen": 1}, secret),
            *(
                lambda claims, secret, missing=missing: jwt.encode(
                    {name: value for name, value in claims.items() if name != missing}, secret
                )
                for missing in ("exp", "nbf", "iss", "sub", "gen")
            ),
        ],
    )
    async def test_a_forged_token_is_refused(
        self, env: Environment, forge: Callable[[dict[str, Any], bytes], str]
    ) -> None:
        claims = claims_of(await env.token(await env.person()))
        secret = await env.user.keys.secret("acme")
        assert await alive(env, jwt.encode(claims, secret))
        assert not await alive(env, forge(claims, secret))
