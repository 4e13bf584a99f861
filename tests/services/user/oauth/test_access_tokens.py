"""Access tokens: content, verification, and the events that end them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from joserfc import jwt
from joserfc.jwk import RSAKey

from labkit.conformance.user.oauth.client import OAuthClient
from labkit.services.user.oauth import access_tokens
from tests.cases import cases
from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered


@pytest.fixture
async def client(env: Environment) -> OAuthClient:
    return await registered(env)


async def read(env: Environment, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims, verified by another library."""
    public = (await env.user.keys.private()).public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    decoded = jwt.decode(token, RSAKey.import_key(pem), algorithms=["RS256"])
    return dict(decoded.header), dict(decoded.claims)


async def test_a_refresh_keeps_the_scope_and_ignores_a_requested_one(
    env: Environment, client: OAuthClient
) -> None:
    tokens = await client.redeem(await client.approve(scope="profile"))
    tokens = await client.refresh(tokens["refresh_token"], scope="profile admin")
    assert (await read(env, tokens["access_token"]))[1]["scopes"] == ["profile"]


async def test_a_token_identifies_its_user(env: Environment, client: OAuthClient) -> None:
    tokens = await client.tokens()
    user = await env.call("getUser", id=client.owner)
    assert await env.call("getCurrentUser", token=tokens["access_token"]) == user
    found = await access_tokens.user_of(env.context, env.user.keys, "acme", tokens["access_token"])
    assert found is not None
    assert found.shown() == user


async def test_a_token_is_valid_only_in_its_own_solution(env: Environment, client: OAuthClient) -> None:
    other = await env.person("eve", solution="other")
    assert other.id == client.owner
    token = (await client.tokens())["access_token"]
    assert await access_tokens.user_of(env.context, env.user.keys, "other", token) is None


async def test_a_token_is_suspended_while_its_user_is_inactive(env: Environment, client: OAuthClient) -> None:
    tokens = await client.tokens()
    await env.call("updateUser", id=client.owner, status=0)
    assert not await client.is_valid(tokens)
    assert "error" in await client.refresh(tokens["refresh_token"])
    await env.call("updateUser", id=client.owner, status=1)
    assert await client.is_valid(tokens)
    assert await client.is_valid(await client.refresh(tokens["refresh_token"]))


async def test_a_new_password_ends_every_token_set(env: Environment, client: OAuthClient) -> None:
    tokens = await client.tokens()
    await env.call("resetUserPassword", id=client.owner, password="new password")
    assert not await client.is_valid(tokens)
    assert "error" in await client.refresh(tokens["refresh_token"])


async def test_a_token_ends_with_its_user(env: Environment, client: OAuthClient) -> None:
    bob = await env.person("bob")
    tokens = await client.redeem(await client.approve(token=await env.token(bob)))
    await env.call("deleteUser", id=bob.id)
    assert (await env.call("getCurrentUser", token=tokens["access_token"]))["status"] == 401


@cases("claim", [{"aud": "2"}, {"sub": "2"}, {"jti": "another"}, {"exp": 0}, {"nbf": 2**40}])
async def test_validly_signed_claims_of_no_existing_set_are_refused(
    env: Environment, client: OAuthClient, claim: dict[str, Any]
) -> None:
    token = (await client.tokens())["access_token"]
    _, claims = await read(env, token)
    key = await env.user.keys.private()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    assert await access_tokens.user_of(env.context, env.user.keys, "acme", sign(pem, claims)) is not None
    assert (
        await access_tokens.user_of(env.context, env.user.keys, "acme", sign(pem, {**claims, **claim}))
        is None
    )


@cases("token", ["", "a.b.c", "\udcff", "x" * 10_000, json.dumps({})])
async def test_a_text_that_is_no_token_is_refused(env: Environment, token: str) -> None:
    assert await access_tokens.user_of(env.context, env.user.keys, "acme", token) is None


def sign(pem: bytes, claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "RS256"}, claims, RSAKey.import_key(pem), algorithms=["RS256"])
