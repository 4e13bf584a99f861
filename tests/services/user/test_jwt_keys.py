"""Binary keys, compared with another library."""

from __future__ import annotations

import base64

from joserfc import jwk
from joserfc import jwt as joserfc_jwt

from tests.cases import cases
from tests.services.user import jwt_keys as keys
from tests.services.user.environment import Environment

BYTES = bytes(range(256))
CODED = base64.b64encode(BYTES).decode()
KEY = jwk.OctKey.import_key(BYTES)


def signed(algorithm: str) -> str:
    """Return a token signed by another library."""
    return joserfc_jwt.encode({"alg": algorithm}, {"a": 1}, KEY, algorithms=[algorithm])


@cases(
    "text",
    [
        CODED,
        CODED.rstrip("="),
        base64.urlsafe_b64encode(BYTES).decode(),
        base64.urlsafe_b64encode(BYTES).decode().rstrip("="),
    ],
)
async def test_a_binary_key_is_passed_as_base64(env: Environment, text: str) -> None:
    token = signed("HS256")
    given: dict[str, object] = {"key": {"base64": text}, "token": token, "algorithms": ["HS256"]}
    assert await env.call("jwtVerify", given) == {"a": 1}
    made = await env.call("jwtSign", key={"base64": text}, payload={"a": 1}, algorithm="HS512")
    assert joserfc_jwt.decode(made["token"], KEY, algorithms=["HS512"]).claims == {"a": 1}
    assert text not in env.journal.canonical()


async def test_a_script_can_pass_bytes_as_text(env: Environment) -> None:
    key = BYTES.decode("utf-8", "surrogateescape")
    token = signed("HS256")
    assert await env.call("jwtVerify", key=key, token=token, algorithms=["HS256"]) == {"a": 1}


async def test_a_pem_in_base64_is_decoded(env: Environment) -> None:
    coded = {"base64": base64.b64encode(keys.private().encode()).decode()}
    token = (await env.call("jwtSign", key=coded, payload={"a": 1}, algorithm="RS256"))["token"]
    assert await env.call("jwtVerify", key=keys.public(), token=token, algorithms=["RS256"]) == {"a": 1}
    error = await env.refused("jwtSign", key=coded, payload={}, algorithm="HS256")
    assert "an HS algorithm needs a shared secret" in str(error)


@cases(
    ("key", "words"),
    [
        ({}, '{base64 = "…"} for a key of bytes'),
        ([1, 2], '{base64 = "…"} for a key of bytes'),
        (7, '{base64 = "…"} for a key of bytes'),
        ({"base64": 7}, '{base64 = "…"} for a key of bytes'),
        ({"base64": CODED, "hex": "00"}, '{base64 = "…"} for a key of bytes'),
        ("\ud800", '{base64 = "…"} for a key of bytes'),
        ({"base64": ""}, "expected 1 to 8192 characters, not 0"),
        ({"base64": "===="}, "expected 1 to 8192 bytes, not 0"),
        ({"base64": "a"}, "expected base64 (RFC 4648, section 4 or 5)"),
        ({"base64": "a b="}, "expected base64 (RFC 4648, section 4 or 5)"),
        ({"base64": "é" * 4}, "expected base64 (RFC 4648, section 4 or 5)"),
        ({"base64": "A" * 8193}, "expected 1 to 8192 characters, not 8193"),
    ],
)
async def test_an_invalid_key_is_an_error_that_explains_base64(
    env: Environment, key: object, words: str
) -> None:
    assert words in str(await env.refused("jwtSign", key=key, payload={}, algorithm="HS256"))
