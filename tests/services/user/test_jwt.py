"""jwtSign and jwtVerify: round trips, keys, lifetimes, and comparison with another library."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import cases
from tests.services.user import jwt_keys as keys
from tests.services.user.environment import Environment
from tests.solutions.lua.bench import Bench

HMACS = ("HS256", "HS384", "HS512")
ALGORITHMS = (*HMACS, "RS256")


async def sign(env: Environment, payload: object, key: str = keys.SECRET, algorithm: str = "HS256") -> str:
    result = await env.call("jwtSign", key=key, payload=payload, algorithm=algorithm)
    assert list(result) == ["token"], result
    token = result["token"]
    assert isinstance(token, str)
    return token


# ---- payloads


@cases(
    ("payload", "reason"),
    [
        ({"n": math.inf}, "not finite"),
        ({"n": [math.nan]}, "not finite"),
        ({"n": b"bytes"}, "JSON has no bytes"),
        ({"n": {"a": {1: 2}}}, "a name in it is not text"),
        ({"n": "\udcff"}, "not UTF-8"),
    ],
)
async def test_values_that_json_cannot_represent_are_refused(
    env: Environment, payload: object, reason: str
) -> None:
    error = await env.refused("jwtSign", key=keys.SECRET, payload=payload, algorithm="HS256")
    assert error["status"] == 400
    assert reason in error["message"]


async def test_nesting_is_limited(env: Environment) -> None:
    def nested(depth: int) -> Any:
        return {} if depth == 1 else {"a": nested(depth - 1)}

    token = await sign(env, nested(100))
    assert (await env.call("jwtVerify", key=keys.SECRET, token=token, algorithms=["HS256"])) == nested(100)
    error = await env.refused("jwtSign", key=keys.SECRET, payload=nested(101), algorithm="HS256")
    assert (error["status"], "deeper than 100" in error["message"]) == (400, True)
    deeper = keys.forged({"alg": "HS256"}, nested(101))
    error = await env.refused("jwtVerify", key=keys.SECRET, token=deeper, algorithms=["HS256"])
    assert (error["status"], "deeper than 100" in error["message"]) == (400, True)


async def test_the_size_of_a_payload_is_limited(env: Environment) -> None:
    error = await env.refused("jwtSign", key=keys.SECRET, payload={"a": "x" * 256 * 1024}, algorithm="HS256")
    assert (error["status"], "too large" in error["message"]) == (400, True)


async def test_a_huge_payload_is_refused_before_it_is_written(env: Environment) -> None:
    payload = {"a": [[1.0] * 1000] * 3000, "b": "x" * 10**7}
    began = time.process_time()
    error = await env.refused("jwtSign", key=keys.SECRET, payload=payload, algorithm="HS256")
    assert time.process_time() - began < 0.5
    assert "too large" in error["message"]


NUMBERS = st.one_of(st.integers(-(2**53), 2**53), st.floats(-1e6, 1e6))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(st.characters(codec="utf-8"))),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text("abcé"), inner, max_size=4)),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def shared() -> Iterator[Environment]:
    """For all examples of a test, since signing stores nothing."""
    env = Environment()
    yield env
    env.close()


@given(payload=st.dictionaries(st.text("abcé", min_size=1), JSON, max_size=4))
async def test_any_payload_survives_the_operations(shared: Environment, payload: dict[str, Any]) -> None:
    token = await sign(shared, payload)
    assert await shared.call("jwtVerify", key=keys.SECRET, token=token, algorithms=["HS256"]) == payload


SCRIPT = """
local signed = User.jwtSign{key = key, payload = payload, algorithm = "HS256"}
return {token = signed.token, payload = User.jwtVerify{key = key, token = signed.token, algorithms = {"HS256"}}}
"""
# Values that a script can represent: null is no value, and an empty table may be a list or an object.
IN_LUA = st.recursive(
    st.one_of(st.booleans(), NUMBERS, st.text(st.characters(codec="utf-8"))),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4),
        st.dictionaries(st.text("abcé", min_size=1), inner, min_size=1, max_size=4),
    ),
    max_leaves=10,
)


def of_script(env: Environment) -> Bench:
    """A script host whose service calls go to the User service."""
    return Bench(service=lambda _, operation, parameters, __: env.call(operation, parameters))


@given(payload=st.dictionaries(st.text("abcé", min_size=1), IN_LUA, min_size=1, max_size=4))
async def test_any_payload_survives_a_script(shared: Environment, payload: dict[str, Any]) -> None:
    result = await of_script(shared).value(SCRIPT, key=keys.SECRET, payload=payload)
    assert result["payload"] == payload


# ---- keys


def encrypted() -> str:
    encryption = serialization.BestAvailableEncryption(b"password")
    return keys.pair(keys.BITS).private_bytes(keys.PEM, keys.PKCS8, encryption).decode()


def curve(public: bool) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    if public:
        return (
            key.public_key().public_bytes(keys.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
        )
    return key.private_bytes(keys.PEM, keys.PKCS8, keys.PLAIN).decode()


async def test_keys_that_rs256_cannot_sign_with(env: Environment) -> None:
    for key, reason in (
        ("secret", "RS256 signs with an RSA private key in PEM"),
        (keys.public(), "RS256 signs with an RSA private key in PEM"),
        (keys.private()[:-100], "RS256 signs with an RSA private key in PEM"),
        ("\udcff", "RS256 signs with an RSA private key in PEM"),
        (encrypted(), "not encrypted"),
        (curve(public=False), "not an RSA key"),
        (keys.private(bits=1024), "1024 bits, expected 2048 to 8192"),
    ):
        error = await env.refused("jwtSign", key=key, payload={}, algorithm="RS256")
        assert error["status"] == 400
        assert reason in error["message"]


async def test_keys_that_rs256_cannot_verify_with(env: Environment) -> None:
    token = await sign(env, {}, keys.private(), "RS256")
    for key, reason in (
        ("secret", "RS256 verifies with an RSA public key or a certificate"),
        (keys.private(), "RS256 verifies with an RSA public key or a certificate"),
        (keys.certificate()[:-100], "RS256 verifies with an RSA public key or a certificate"),
        ("-----BEGIN CERTIFICATE-----", "RS256 verifies with an RSA public key or a certificate"),
        (curve(public=True), "not an RSA key"),
        (keys.public(bits=1024), "1024 bits, expected 2048 to 8192"),
    ):
        error = await env.refused("jwtVerify", key=key, token=token, algorithms=["RS256"])
        assert error["status"] == 400
        assert reason in error["message"]


@cases("algorithm", ALGORITHMS)
@cases("key", ["", "x" * 8193, 7, None])
async def test_a_missing_key_and_one_that_is_too_long(env: Environment, algorithm: str, key: object) -> None:
    error = await env.refused("jwtSign", key=key, payload={}, algorithm=algorithm)
    assert (error["status"], "Parameter key" in error["message"]) == (400, True)
    token = keys.forged({"alg": algorithm}, {})
    error = await env.refused("jwtVerify", key=key, token=token, algorithms=[algorithm])
    assert (error["status"], "Parameter key" in error["message"]) == (400, True)


# ---- arguments


@cases("name", ["key", "payload", "algorithm"])
async def test_signing_requires_all_of_its_arguments(env: Environment, name: str) -> None:
    given = {"key": keys.SECRET, "payload": {}, "algorithm": "HS256"}
    del given[name]
    error = await env.refused("jwtSign", given)
    assert (error["status"], error["message"]) == (400, f"Parameter {name} is required.")


@cases("name", ["key", "token", "algorithms"])
async def test_verifying_requires_all_of_its_arguments(env: Environment, name: str) -> None:
    given = {"key": keys.SECRET, "token": await sign(env, {}), "algorithms": ["HS256"]}
    del given[name]
    error = await env.refused("jwtVerify", given)
    assert (error["status"], error["message"]) == (400, f"Parameter {name} is required.")


# ---- lifetimes


# ---- secrecy


async def test_keys_payloads_and_tokens_never_reach_the_journal(env: Environment) -> None:
    token = await sign(env, {"sub": "ann of the hill"}, keys.private(), "RS256")
    await env.call("jwtVerify", key=keys.public(), token=token, algorithms=["RS256"])
    await env.refused("jwtVerify", key=keys.SECRET, token=token, algorithms=["HS256"])
    await env.refused("jwtVerify", key=keys.SECRET, token=f"{token}x", algorithms=["RS256"])
    await env.refused("jwtSign", key=keys.SECRET, payload={}, algorithm="RS256")
    await env.refused(
        "jwtSign", key=keys.SECRET, payload={"sub": "ann of the hill", "x": b""}, algorithm="HS256"
    )
    written = env.journal.canonical()
    assert "User.jwtVerify" in written
    for secret in (
        "ann of the hill",
        token,
        token.split(".")[2],
        keys.SECRET,
        keys.private().splitlines()[3],
    ):
        assert secret not in written
