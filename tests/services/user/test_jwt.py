"""jwtSign and jwtVerify: keys and payloads that no check can send, or that no one thought of."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import cases
from tests.services.user.environment import Environment
from tests.solutions.lua.bench import Bench

SECRET = "correct horse battery staple, a key of more than 32 bytes"
BYTES = bytes(range(256))


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
    error = await env.refused("jwtSign", key=SECRET, payload=payload, algorithm="HS256")
    assert error["status"] == 400
    assert reason in error["message"]


async def test_a_huge_payload_is_refused_before_it_is_written(env: Environment) -> None:
    payload = {"a": [[1.0] * 1000] * 3000, "b": "x" * 10**7}
    began = time.process_time()
    error = await env.refused("jwtSign", key=SECRET, payload=payload, algorithm="HS256")
    assert time.process_time() - began < 0.5
    assert "too large" in error["message"]


@cases("forged", [{"exp": 1}, {"nbf": 4_102_444_800}, {}])
async def test_a_refusal_reveals_nothing_of_key_and_payload(env: Environment, forged: dict[str, Any]) -> None:
    token = jwt.encode({"sub": "ann of the hill", **forged}, SECRET)
    if not forged:
        token = f"{token[:-4]}AAAA"
    message = (await env.refused("jwtVerify", key=SECRET, token=token, algorithms=["HS256"]))["message"]
    assert SECRET not in message
    assert "ann" not in message
    assert len(message) < 200


async def test_a_script_can_pass_a_key_of_bytes_as_text(env: Environment) -> None:
    token = jwt.encode({"a": 1}, BYTES, "HS256")
    key = BYTES.decode("utf-8", "surrogateescape")
    assert await env.call("jwtVerify", key=key, token=token, algorithms=["HS256"]) == {"a": 1}


@cases(
    ("key", "words"),
    [
        ({}, '{base64 = "…"} for a key of bytes'),
        ([1, 2], '{base64 = "…"} for a key of bytes'),
        (7, '{base64 = "…"} for a key of bytes'),
        ({"base64": 7}, '{base64 = "…"} for a key of bytes'),
        ({"base64": "AAAA", "hex": "00"}, '{base64 = "…"} for a key of bytes'),
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


NUMBERS = st.one_of(st.integers(-(2**53), 2**53), st.floats(-1e6, 1e6))


@pytest.fixture(scope="module")
def shared() -> Iterator[Environment]:
    """For all examples of a test, since signing stores nothing."""
    env = Environment()
    yield env
    env.close()


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
    result = await of_script(shared).value(SCRIPT, key=SECRET, payload=payload)
    assert result["payload"] == payload
