"""Attacks with presented tokens: forged or expired access tokens, and bearer tokens that cannot approve."""

from __future__ import annotations

import json
from collections.abc import Callable

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from labkit.conformance.jwts import decode, encode
from labkit.conformance.user.oauth.attacks.scenario import Attack, Scenario, attack, attacks_in

PRESENTED = "RFC 6750 3.1"
FORGERY = "RFC 6750 5.2"
ALGORITHM_CONFUSION = "RFC 8725 3.1"  # algorithms must be verified


def with_claims(token: str, **changes: object) -> str:
    """Return a token with changed claims and the old signature."""
    header, _, signature = token.split(".")
    return f"{header}.{encode({**decode(token)[1], **changes})}.{signature}"


def without_signature(token: str) -> str:
    """Return a token without its signature."""
    return token.rpartition(".")[0] + "."


def unsigned(token: str) -> str:
    """Return a token whose header declares the algorithm none."""
    return f"{encode({'alg': 'none', 'typ': 'JWT'})}.{token.split('.')[1]}."


def signed_by_mallory(token: str) -> str:
    """Return a token with the same claims, signed with Mallory's key, which its header contains."""
    key = rsa.generate_private_key(65537, 2048)
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    return jwt.encode(decode(token)[1], key, "RS256", {"jwk": public})


def altered(token: str) -> str:
    """Return a token with one changed character in its signature."""
    body, _, signature = token.rpartition(".")
    return f"{body}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"


FORGERIES: dict[str, tuple[str, Callable[[str], str]]] = {
    "with a changed signature": (FORGERY, altered),
    "without signature": (FORGERY, without_signature),
    "that says it needs no signature": (ALGORITHM_CONFUSION, unsigned),
    "that is signed with a key of its own": (ALGORITHM_CONFUSION, signed_by_mallory),
    "of another user": (FORGERY, lambda token: with_claims(token, sub="1000000000")),
    "of a longer life": (FORGERY, lambda token: with_claims(token, exp=2**40)),
    "with its parts cut": (FORGERY, lambda token: token.rpartition(".")[0]),
    "that is empty": (PRESENTED, lambda token: ""),
    "that is no token": (PRESENTED, lambda token: "none.of.these"),
}


def _access(name: str, rfc: str, forge: Callable[[str], str]) -> Attack:
    async def play(scenario: Scenario) -> object:
        return await scenario.client.user_of(forge(scenario.tokens["access_token"]))

    how = f"Show an access token {name}."
    return Attack("access tokens", f"access token {name}", rfc, how, 401, None, play)


def _bearer(name: str, rfc: str, forge: Callable[[str], str]) -> Attack:
    async def play(scenario: Scenario) -> object:
        return await scenario.client.approve(token=forge(scenario.client.token))

    how = f"Approve a client with a user token {name}."
    return Attack("bearer", f"user token {name}", rfc, how, 401, "invalid_token", play)


# --- access tokens ------------------------------------------------------------------------------------------


@attack("access tokens", ALGORITHM_CONFUSION, 401, None)
async def access_token_signed_with_the_secret(scenario: Scenario) -> object:
    """Show an access token that the client signed itself, with its secret (HS256)."""
    _, claims, _ = decode(scenario.tokens["access_token"])
    return await scenario.client.user_of(jwt.encode(claims, scenario.client.secret, "HS256"))


@attack("access tokens", PRESENTED, 401, None)
async def access_token_of_before_a_refresh(scenario: Scenario) -> object:
    """Show an access token whose set was refreshed."""
    former = scenario.tokens
    scenario.tokens = await scenario.expect_success(scenario.client.refresh(former["refresh_token"]))
    return await scenario.client.user_of(former["access_token"])


@attack("access tokens", PRESENTED, 401, None)
async def access_token_of_a_former_set(scenario: Scenario) -> object:
    """Show an access token whose set was replaced by that of a later code."""
    former = scenario.tokens
    scenario.tokens = await scenario.expect_success(scenario.client.redeem(scenario.code))
    scenario.code = await scenario.client.approve()
    return await scenario.client.user_of(former["access_token"])


@attack("access tokens", PRESENTED, 401, None, clock=True)
async def access_token_too_late(scenario: Scenario) -> object:
    """Show an access token at the last second of its lifetime."""
    late = await scenario.expect_success(scenario.client.redeem(scenario.code, access_token_ttl=1))
    await scenario.advance(1)
    refused = await scenario.client.user_of(late["access_token"])
    scenario.tokens = await scenario.expect_success(scenario.client.refresh(late["refresh_token"]))
    scenario.code = await scenario.client.approve()
    return refused


@attack("access tokens", PRESENTED, 401, None)
async def refresh_token_as_access_token(scenario: Scenario) -> object:
    """Show a refresh token as if it were an access token."""
    return await scenario.client.user_of(scenario.tokens["refresh_token"])


@attack("access tokens", PRESENTED, 401, None)
async def code_as_access_token(scenario: Scenario) -> object:
    """Show a code as if it were an access token."""
    return await scenario.client.user_of(scenario.code)


# --- bearer -------------------------------------------------------------------------------------------------


@attack("bearer", "RFC 9700 2.3", 401, "invalid_token")
async def access_token_that_approves(scenario: Scenario) -> object:
    """Approve a client with an access token: the client would extend its own permissions."""
    return await scenario.client.approve(token=scenario.tokens["access_token"], scope="everything")


@attack("bearer", PRESENTED, 401, "invalid_token")
async def refresh_token_that_approves(scenario: Scenario) -> object:
    """Approve a client with a refresh token."""
    return await scenario.client.approve(token=scenario.tokens["refresh_token"])


@attack("bearer", PRESENTED, 401, "invalid_token")
async def code_that_approves(scenario: Scenario) -> object:
    """Approve a client with a code."""
    return await scenario.client.approve(token=scenario.code)


@attack("bearer", PRESENTED, 400, None)
async def no_token_that_approves(scenario: Scenario) -> object:
    """Approve a client without any token."""
    return await scenario.client.approve(token=None)


ATTACKS = (
    *attacks_in(globals()),
    *(_access(name, *forgery) for name, forgery in FORGERIES.items()),
    *(_bearer(name, *forgery) for name, forgery in FORGERIES.items()),
)
