"""jwtSign and jwtVerify: round trips, keys, lifetimes, and what a second library makes of it."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwk
from joserfc import jwt as joserfc_jwt

from tests.cases import cases
from tests.services.user import jwt_keys as keys
from tests.services.user.environment import Environment
from tests.solutions.lua.bench import Bench

HMACS = ("HS256", "HS384", "HS512")
ALGORITHMS = (*HMACS, "RS256")
LONG = "a secret that is long enough for every one of the algorithms, SHA-512 too"


def signing_key(algorithm: str) -> str:
    return keys.private() if algorithm == "RS256" else LONG


def verifying_key(algorithm: str) -> str:
    return keys.public() if algorithm == "RS256" else LONG


def other_form(key: str, algorithm: str) -> jwk.Key:
    """A key as the other library has it."""
    return jwk.import_key(key, "RSA") if algorithm == "RS256" else jwk.import_key(key, "oct")


async def sign(env: Environment, payload: object, key: str = keys.SECRET, algorithm: str = "HS256") -> str:
    result = await env.call("jwtSign", key=key, payload=payload, algorithm=algorithm)
    assert list(result) == ["token"], result
    token = result["token"]
    assert isinstance(token, str)
    return token


@pytest.mark.parametrize("algorithm", ALGORITHMS)
class TestEachAlgorithm:
    async def test_what_was_signed_is_verified(self, env: Environment, algorithm: str) -> None:
        payload = {"sub": "ann", "roles": ["owner", "guest"], "more": {"exp": 1, "a": None, "é": "ü"}}
        token = await sign(env, payload, signing_key(algorithm), algorithm)
        given = {"key": verifying_key(algorithm), "token": token}
        assert await env.call("jwtVerify", given | {"algorithms": [algorithm]}) == payload
        assert await env.call("jwtVerify", given | {"algorithms": ALGORITHMS}) == payload

    async def test_another_library_reads_it(self, env: Environment, algorithm: str) -> None:
        payload = {"sub": "ann", "exp": 1_900_000_000, "é": "ü"}
        token = await sign(env, payload, signing_key(algorithm), algorithm)
        key = other_form(verifying_key(algorithm), algorithm)
        read = joserfc_jwt.decode(token, key, algorithms=[algorithm])
        assert read.claims == payload
        assert read.header == {"alg": algorithm, "typ": "JWT"}

    async def test_it_reads_another_library(self, env: Environment, algorithm: str) -> None:
        payload = {"sub": "ann", "exp": 1_900_000_000, "é": "ü"}
        key = other_form(signing_key(algorithm), algorithm)
        token = joserfc_jwt.encode({"alg": algorithm}, payload, key, algorithms=[algorithm])
        result = await env.call(
            "jwtVerify", key=verifying_key(algorithm), token=token, algorithms=[algorithm]
        )
        assert result == payload

    async def test_another_key_is_refused(self, env: Environment, algorithm: str) -> None:
        token = await sign(env, {}, signing_key(algorithm), algorithm)
        other = keys.public(bits=2049) if algorithm == "RS256" else f"{LONG}."
        error = await env.refused("jwtVerify", key=other, token=token, algorithms=[algorithm])
        assert (error["status"], error["message"]) == (401, "The token's signature does not fit the key.")


# ---- payloads


async def test_nothing_is_added_to_the_payload(env: Environment) -> None:
    token = await sign(env, {"b": 1, "a": 2})
    assert token.split(".")[1] == keys.part('{"b":1,"a":2}')


async def test_an_empty_table_is_an_empty_payload(env: Environment) -> None:
    token = await sign(env, [])
    assert await env.call("jwtVerify", key=keys.SECRET, token=token, algorithms="HS256") == {}


async def test_whole_numbers_are_signed_as_integers_at_any_depth(env: Environment) -> None:
    payload = {"exp": 1.9e9, "deep": [{"n": -2.0}, 2.5], "largest": 2.0**53, "beyond": 1e300, "yes": True}
    token = await sign(env, payload)
    expected = (
        '{"exp":1900000000,"deep":[{"n":-2},2.5],"largest":9007199254740992,"beyond":1e+300,"yes":true}'
    )
    assert token.split(".")[1] == keys.part(expected)


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
async def test_what_json_cannot_hold_is_refused(env: Environment, payload: object, reason: str) -> None:
    error = await env.refused("jwtSign", key=keys.SECRET, payload=payload, algorithm="HS256")
    assert error["status"] == 400
    assert reason in error["message"]


async def test_nesting_has_a_bound(env: Environment) -> None:
    def nested(depth: int) -> Any:
        return {} if depth == 1 else {"a": nested(depth - 1)}

    token = await sign(env, nested(100))
    assert (await env.call("jwtVerify", key=keys.SECRET, token=token, algorithms=["HS256"])) == nested(100)
    error = await env.refused("jwtSign", key=keys.SECRET, payload=nested(101), algorithm="HS256")
    assert (error["status"], "deeper than 100" in error["message"]) == (400, True)
    deeper = keys.forged({"alg": "HS256"}, nested(101))
    error = await env.refused("jwtVerify", key=keys.SECRET, token=deeper, algorithms=["HS256"])
    assert (error["status"], "deeper than 100" in error["message"]) == (400, True)


async def test_a_payload_has_a_largest_size(env: Environment) -> None:
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


@given(payload=st.dictionaries(st.text("abcé", min_size=1), JSON, max_size=4))
async def test_any_payload_survives_the_operations(payload: dict[str, Any]) -> None:
    env = Environment()
    token = await sign(env, payload)
    assert await env.call("jwtVerify", key=keys.SECRET, token=token, algorithms=["HS256"]) == payload
    env.close()


SCRIPT = """
local signed = User.jwtSign{key = key, payload = payload, algorithm = "HS256"}
return {token = signed.token, payload = User.jwtVerify{key = key, token = signed.token, algorithms = {"HS256"}}}
"""
# What a script can hold: null is no value, and an empty table may be a list or an object.
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
async def test_any_payload_survives_a_script(payload: dict[str, Any]) -> None:
    env = Environment()
    result = await of_script(env).value(SCRIPT, key=keys.SECRET, payload=payload)
    assert result["payload"] == payload
    env.close()


async def test_whole_numbers_stay_integers_through_a_script(env: Environment) -> None:
    source = (
        "local soon = math.floor(now) + 60.0\n"
        "local made = User.jwtSign{key = key, algorithm = 'HS256', payload = {exp = soon, n = {{one = 1.0}}}}\n"
        "local read = User.jwtVerify{key = key, token = made.token, algorithms = {'HS256'}}\n"
        "return {token = made.token, text = string.format('%d', read.exp), same = read.exp == soon}"
    )
    result = await of_script(env).value(source, key=keys.SECRET, now=env.clock.now())
    soon = env.clock.seconds() + 60
    assert result["token"].split(".")[1] in (
        keys.part(f'{{"exp":{soon},"n":[{{"one":1}}]}}'),
        keys.part(f'{{"n":[{{"one":1}}],"exp":{soon}}}'),
    )
    assert (result["text"], result["same"]) == (str(soon), True)


# ---- keys


async def test_forms_of_rsa_keys(env: Environment) -> None:
    for form in (keys.PKCS1, keys.PKCS8):
        token = await sign(env, {"a": 1}, keys.private(form), "RS256")
        for key in (keys.public(), keys.public(serialization.PublicFormat.PKCS1), keys.certificate()):
            assert await env.call("jwtVerify", key=key, token=token, algorithms=["RS256"]) == {"a": 1}


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


@cases("algorithm", HMACS)
async def test_short_secrets_are_fine(env: Environment, algorithm: str) -> None:
    token = await sign(env, {"a": 1}, "s", algorithm)
    assert await env.call("jwtVerify", key="s", token=token, algorithms=[algorithm]) == {"a": 1}


@cases("algorithm", ALGORITHMS)
@cases("key", ["", "x" * 8193, 7, None])
async def test_no_key_and_one_that_is_too_long(env: Environment, algorithm: str, key: object) -> None:
    error = await env.refused("jwtSign", key=key, payload={}, algorithm=algorithm)
    assert (error["status"], "Parameter key" in error["message"]) == (400, True)
    token = keys.forged({"alg": algorithm}, {})
    error = await env.refused("jwtVerify", key=key, token=token, algorithms=[algorithm])
    assert (error["status"], "Parameter key" in error["message"]) == (400, True)


# ---- arguments


@cases("name", ["key", "payload", "algorithm"])
async def test_signing_needs_all_of_its_arguments(env: Environment, name: str) -> None:
    given = {"key": keys.SECRET, "payload": {}, "algorithm": "HS256"}
    del given[name]
    error = await env.refused("jwtSign", given)
    assert (error["status"], error["message"]) == (400, f"Parameter {name} is required.")


@cases("name", ["key", "token", "algorithms"])
async def test_verifying_needs_all_of_its_arguments(env: Environment, name: str) -> None:
    given = {"key": keys.SECRET, "token": await sign(env, {}), "algorithms": ["HS256"]}
    del given[name]
    error = await env.refused("jwtVerify", given)
    assert (error["status"], error["message"]) == (400, f"Parameter {name} is required.")


@cases("algorithm", ["none", "None", "", "hs256", "RS384", "ES256", "PS256", 5, None, []])
async def test_other_algorithms_are_unknown(env: Environment, algorithm: object) -> None:
    error = await env.refused("jwtSign", key=keys.SECRET, payload={}, algorithm=algorithm)
    assert (error["status"], "Parameter algorithm" in error["message"]) == (400, True)
    algorithms = ["HS256", algorithm]
    token = await sign(env, {})
    error = await env.refused("jwtVerify", key=keys.SECRET, token=token, algorithms=algorithms)
    assert (error["status"], "Parameter algorithms" in error["message"]) == (400, True)


@cases("algorithms", [[], {}, "", None, 7])
async def test_an_algorithm_must_be_allowed(env: Environment, algorithms: object) -> None:
    token = await sign(env, {})
    error = await env.refused("jwtVerify", key=keys.SECRET, token=token, algorithms=algorithms)
    assert (error["status"], "Parameter algorithms" in error["message"]) == (400, True)


# ---- lifetimes


@cases(("after", "alive"), [(59, True), (60, False), (61, False)])
async def test_exp_is_judged_on_lab_time_without_slack(env: Environment, after: int, alive: bool) -> None:
    payload = {"exp": env.clock.seconds() + 60}
    token = await sign(env, payload)
    await env.clock.advance(after)
    result = await env.call("jwtVerify", key=keys.SECRET, token=token, algorithms=["HS256"])
    if alive:
        assert result == payload
    else:
        assert (result["status"], result["message"]) == (
            401,
            f"The token has expired: its exp is {payload['exp']}.",
        )


@cases(("after", "valid"), [(59, False), (59.5, False), (60, True), (61, True)])
async def test_nbf_is_judged_on_lab_time_without_slack(env: Environment, after: float, valid: bool) -> None:
    payload = {"nbf": env.clock.seconds() + 60}
    token = await sign(env, payload)
    await env.clock.advance(after)
    result = await env.call("jwtVerify", key=keys.SECRET, token=token, algorithms=["HS256"])
    if valid:
        assert result == payload
    else:
        assert (result["status"], result["message"]) == (
            401,
            f"The token is not valid yet: its nbf is {payload['nbf']}.",
        )


@cases("claim", ["exp", "nbf"])
@cases("value", ["1900000000", "soon", None, True, [], {}])
async def test_times_are_numbers(env: Environment, claim: str, value: object) -> None:
    token = await sign(env, {claim: value})
    error = await env.refused("jwtVerify", key=keys.SECRET, token=token, algorithms=["HS256"])
    assert (error["status"], f"its {claim} is not a number" in error["message"]) == (400, True)


@cases(
    "payload",
    [
        {"iat": 4e9, "aud": "someone", "iss": 7, "sub": 5, "jti": []},
        {"exp": 10**40, "nbf": -(10**40)},
        {"exp": 1.9e9 + 0.5},
    ],
)
async def test_other_claims_are_the_callers_to_judge(env: Environment, payload: dict[str, object]) -> None:
    token = await sign(env, payload)
    assert await env.call("jwtVerify", key=keys.SECRET, token=token, algorithms=["HS256"]) == payload


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
