"""Forged tokens, and tokens that readers could interpret differently (RFC 8725)."""

from __future__ import annotations

import base64
from typing import Any

from cryptography.hazmat.primitives import serialization

from tests.cases import cases
from tests.services.user import jwt_keys as keys
from tests.services.user.environment import Environment

ALL = ["HS256", "HS384", "HS512", "RS256"]
PAYLOAD = {"sub": "ann", "role": "owner"}
GOOD = keys.forged({"alg": "HS256", "typ": "JWT"}, PAYLOAD)
HEADER, BODY, SIGNATURE = GOOD.split(".")


async def verify(
    env: Environment, token: object, key: str = keys.SECRET, algorithms: list[str] | None = None
) -> tuple[int, str]:
    given: dict[str, Any] = {"key": key, "token": token, "algorithms": algorithms or ALL}
    error = await env.refused("jwtVerify", given)
    return error["status"], error["message"]


async def test_the_token_that_the_attacks_start_from_is_valid(env: Environment) -> None:
    assert await env.call("jwtVerify", key=keys.SECRET, token=GOOD, algorithms=ALL) == PAYLOAD


def flipped(text: str) -> str:
    return ("B" if text[0] == "A" else "A") + text[1:]


async def test_a_token_without_an_algorithm_is_refused(env: Environment) -> None:
    for alg in ("none", "None", "NONE", "nOnE", "", " none", "HS256 ", "hs256"):
        for signature in ("", SIGNATURE):
            token = f"{keys.part({'alg': alg})}.{BODY}.{signature}"
            assert await verify(env, token) == (
                401,
                f"The token's alg is {alg!r}, expected HS256 or HS384 or HS512 or RS256.",
            )


UNTRUE = {
    "no signature": f"{HEADER}.{BODY}.",
    "another signature": f"{HEADER}.{BODY}.{flipped(SIGNATURE)}",
    "a short signature": f"{HEADER}.{BODY}.{SIGNATURE[:4]}",
    "a long signature": f"{HEADER}.{BODY}.{SIGNATURE[:-1]}AAAAA",
    "another payload": f"{HEADER}.{keys.part({'sub': 'eve'})}.{SIGNATURE}",
    "an empty payload": f"{HEADER}..{SIGNATURE}",
    "another header": f"{keys.part({'alg': 'HS384'})}.{BODY}.{SIGNATURE}",
    "another spelling of the header": f"{keys.part({'typ': 'JWT', 'alg': 'HS256'})}.{BODY}.{SIGNATURE}",
    "the signature of another token": f"{GOOD[: GOOD.rindex('.')]}.{keys.forged({'alg': 'HS256'}, {})[-43:]}",
    "another key": keys.forged({"alg": "HS256"}, PAYLOAD, "guess"),
    "a key of the token's own": keys.forged(
        {"alg": "HS256", "jwk": {"kty": "oct", "k": "Z3Vlc3M"}}, {}, "guess"
    ),
    "a key at an address": keys.forged({"alg": "HS256", "jku": "https://eve.test/keys"}, {}, "guess"),
}


async def test_an_invalid_signature_is_refused(env: Environment) -> None:
    for attack, token in UNTRUE.items():
        assert await verify(env, token) == (401, "The token's signature does not fit the key."), attack


MALFORMED = {
    "nothing": "",
    "a word": "token",
    "one dot": f"{HEADER}.{BODY}",
    "two dots": "..",
    "four parts": f"{GOOD}.{SIGNATURE}",
    "five parts, as if encrypted": "a.b.c.d.e",
    "a header that is not base64url": f"{'!' + HEADER}.{BODY}.{SIGNATURE}",
    "a space before": f" {GOOD}",
    "a newline behind": f"{GOOD}\n",
    "a newline within": f"{HEADER}.\n{BODY}.{SIGNATURE}",
    "plain base64": f"{HEADER}.{BODY}.{SIGNATURE[:-2]}+/",
    "set bits behind the end": f"{HEADER}.{BODY}.{SIGNATURE[:-1]}{chr(ord(SIGNATURE[-1]) + 1)}",
    "a header that is not JSON": f"{keys.part('alg: HS256')}.{BODY}.{SIGNATURE}",
    "a header that is a list": f"{keys.part(['HS256'])}.{BODY}.{SIGNATURE}",
    "a header that is no text": f"{base64.urlsafe_b64encode(bytes(range(128, 140))).decode()}.{BODY}.",
    "a deep header": f"{keys.part('[' * 100_000)}.{BODY}.",
    "no alg": keys.forged({"typ": "JWT"}, PAYLOAD),
    "an alg that is null": keys.forged({"alg": None}, PAYLOAD),
    "an alg that is a list": keys.forged({"alg": ["HS256"]}, PAYLOAD),
    "an unknown critical header": keys.forged({"alg": "HS256", "crit": ["exp"], "exp": 1}, PAYLOAD),
    "an empty list of critical headers": keys.forged({"alg": "HS256", "crit": []}, PAYLOAD),
    "critical headers that are no list": keys.forged({"alg": "HS256", "crit": "exp"}, PAYLOAD),
    "an unencoded payload": keys.forged({"alg": "HS256", "b64": False, "crit": ["b64"]}, PAYLOAD),
    "a key id that is no text": keys.forged({"alg": "HS256", "kid": {"a": 1}}, PAYLOAD),
    "a payload that is not JSON": keys.forged({"alg": "HS256"}, "sub=ann"),
    "a payload that is a list": keys.forged({"alg": "HS256"}, [1]),
    "a payload that is a text": keys.forged({"alg": "HS256"}, '"ann"'),
    "a payload that is null": keys.forged({"alg": "HS256"}, "null"),
    "an empty payload": keys.forged({"alg": "HS256"}, ""),
    "a claim twice": keys.forged({"alg": "HS256"}, '{"exp": 1, "exp": 9999999999}'),
    "a name twice further in": keys.forged({"alg": "HS256"}, '{"a": [{"b": 1, "b": 1}]}'),
    "a number that is none": keys.forged({"alg": "HS256"}, '{"a": NaN}'),
    "an endless lifetime": keys.forged({"alg": "HS256"}, '{"exp": Infinity}'),
    "a number without bound": keys.forged({"alg": "HS256"}, '{"exp": 1e999}'),
    "a number of many digits": keys.forged({"alg": "HS256"}, '{"exp": 1' + "0" * 10_000 + "}"),
    "a deep payload": keys.forged({"alg": "HS256"}, "[" * 100_000),
    "letters of another script": f"{HEADER}.{BODY}.é",
    "half a character": f"{HEADER}.{BODY}.\udcff",
    "a huge token": "a" * (256 * 1024 + 1),
    "a huge number of dots": "." * 10_000,
}


async def test_a_malformed_token_is_refused(env: Environment) -> None:
    for attack, token in MALFORMED.items():
        status, message = await verify(env, token)
        assert status == 400, attack
        assert message.startswith("Parameter token "), attack


async def test_other_values_than_tokens_are_refused(env: Environment) -> None:
    odd: list[object] = [None, 7, ["a"], {"a": 1}]
    for token in odd:
        status, message = await verify(env, token)
        assert (status, message.startswith("Parameter token validation failed")) == (400, True)


def public_keys() -> dict[str, str]:
    """Return all forms in which a public key may be taken for a shared secret."""
    return {
        "public key": keys.public(),
        "PKCS#1 public key": keys.public(serialization.PublicFormat.PKCS1),
        "certificate": keys.certificate(),
        "certificate by its old name": keys.certificate().replace("CERTIFICATE", "X509 CERTIFICATE"),
        "private key": keys.private(),
        "PKCS#1 private key": keys.private(keys.PKCS1),
        "public key after blanks": f" \n{keys.public()}",
        "public key after text": f"of the server:\n{keys.public()}",
        "public key without its end": keys.public().rstrip(),
        "public key with the newlines of Windows": keys.public().replace("\n", "\r\n"),
        "public key on one line": keys.public().replace("\n", ""),
        "public key for ssh": keys.pair(keys.BITS)
        .public_key()
        .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        .decode(),
        "public key in JSON": '{"kty": "RSA", "e": "AQAB", "n": "AAAA"}',
    }


@cases("alg", ["HS256", "HS384", "HS512"])
async def test_a_public_key_is_refused_as_a_shared_secret(env: Environment, alg: str) -> None:
    for form, key in public_keys().items():
        token = keys.forged({"alg": alg}, PAYLOAD, key)
        for algorithms in (ALL, [alg], [alg, "RS256"]):
            status, message = await verify(env, token, key, algorithms)
            assert (status, message.startswith("Parameter key is ")) == (400, True), form


async def test_a_valid_token_of_an_algorithm_that_is_not_allowed_is_refused(env: Environment) -> None:
    for algorithms in (["RS256"], ["HS384"], ["HS384", "HS512", "RS256"]):
        status, message = await verify(env, GOOD, keys.SECRET, algorithms)
        assert (status, message) == (401, f"The token's alg is 'HS256', expected {' or '.join(algorithms)}.")


async def test_an_rsa_signature_with_another_payload_is_refused(env: Environment) -> None:
    signed = await env.call("jwtSign", key=keys.private(), payload=PAYLOAD, algorithm="RS256")
    header, _, signature = signed["token"].split(".")
    for token in (
        f"{header}.{keys.part({'sub': 'eve'})}.{signature}",
        f"{header}.{BODY}.",
        f"{header}.{BODY}.AAAA",
    ):
        assert await verify(env, token, keys.public(), ["RS256"]) == (
            401,
            "The token's signature does not fit the key.",
        )


async def test_a_refusal_reveals_nothing_of_key_and_payload(env: Environment) -> None:
    expired = keys.forged({"alg": "HS256"}, {"exp": 1, "sub": "ann"})
    for token in (*UNTRUE.values(), *MALFORMED.values(), expired):
        _, message = await verify(env, token)
        assert keys.SECRET not in message
        assert "ann" not in message
        assert len(message) < 200
