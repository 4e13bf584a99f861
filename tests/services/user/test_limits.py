"""Longest inputs of the User service: none blocks the loop for others."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.services.user.environment import Environment

PATIENCE = 1.0  # CPU seconds for which the loop may be blocked; without limits it was 23
LONG = 2**20  # characters: the maximal body
MARKS = "a" + "\u0301\u0323" * (LONG // 2)  # combining marks, which normalization sorts
ADDRESSES = ",".join(["j\u0075\u0308@m\u00fc.de"] * 1000)[:9_900]
HOSTILE: dict[str, tuple[str, dict[str, Any]]] = {
    "the address of a sign-up": (
        "createUser",
        {"email": f"{MARKS}@example.com", "name": "A", "password": "x" * 9},
    ),
    "a name": ("createUser", {"email": "a@example.com", "name": MARKS, "password": "x" * 9}),
    "a password": ("createUser", {"email": "a@example.com", "name": "A", "password": MARKS}),
    "the address of a login": ("getUserToken", {"email": f"{MARKS}@example.com", "password": "x"}),
    "an address of a login without domain": ("getUserToken", {"email": MARKS, "password": "x" * 9}),
    "a filter that finds one address": ("listUsers", {"filter": f"email::eq::{MARKS}"}),
    "a filter that finds many addresses": ("listUsers", {"filter": [f"email::in::{ADDRESSES}"] * 2}),
    "a pattern": ("listUsers", {"filter": ["email::like::" + "%a_" * 300] * 20}),
    "a number": ("listUsers", {"filter": f"id::eq::{'9' * 9_900}"}),
    "an id": ("getUser", {"id": "9" * LONG}),
    "an activation code": ("activateUser", {"code": MARKS}),
    "a token": ("getCurrentUser", {"token": "a" * LONG}),
    "a token of many parts": ("getCurrentUser", {"token": "a." * (LONG // 2)}),
    "a header of a token": ("getCurrentUser", {"token": "W1tb" * (LONG // 4) + ".a.b"}),
    "a perm_id": ("hasUserPerm", {"id": 1, "perm_id": "GET/" + "{" * LONG, "parameters": []}),
    "a placeholder's value": (
        "hasUserPerm",
        {"id": 1, "perm_id": "GET/{a}", "parameters": ["a::" + "1" * LONG]},
    ),
    "many values": ("hasUserPerm", {"id": 1, "perm_id": "GET/{a}", "parameters": ["a::1"] * (LONG // 8)}),
    "a redirect": (
        "createOauthClient",
        {"id": 1, "name": "A", "redirect": "https://a.example/" + "a" * LONG},
    ),
    "many redirects": ("createOauthClient", {"id": 1, "name": "A", "redirect": "," * LONG}),
    "a list of redirects": ("createOauthClient", {"id": 1, "name": "A", "redirect": [""] * (LONG // 4)}),
    "roles of a user": ("assignUser", {"id": 1, "roles": [1] * (LONG // 2)}),
    "values of a role": ("assignUser", {"id": 1, "roles": {"role_id": "a", "parameters": [1] * (LONG // 2)}}),
    "parameters of a role": ("createRole", {"role_id": "a", "parameter": [1] * (LONG // 2)}),
    "permissions": ("addRolePerm", {"role_id": "a", "body": [1] * (LONG // 2)}),
    "filters": ("listUsers", {"filter": [1] * (LONG // 2)}),
    "keys of data": ("deleteUserData", {"id": 1, "keys": [1] * (LONG // 2)}),
    "scopes of a social": (
        "createSocial",
        {
            "consumer": "github",
            "redirect": "https://a.example/",
            "client_id": "a",
            "client_secret": "b",
            "scope": [1] * (LONG // 2),
        },
    ),
    "a scope": (
        "getOauthAuthorizeApproved",
        {
            "token": "x",
            "client_id": 1,
            "redirect_uri": MARKS,
            "response_type": "code",
            "scope": "a " * (LONG // 2),
        },
    ),
    "a code of a client": (
        "getOauthToken",
        {"grant_type": "authorization_code", "client_id": 1, "code": MARKS, "redirect_uri": MARKS},
    ),
    "a key of data": ("createUserData", {"id": 1, MARKS: 1}),
    "a value of data": ("createUserData", {"id": 1, "a": MARKS}),
    "the state of a login": ("getSocialToken", {"consumer": "github", "code": MARKS, "state": MARKS}),
    "a consumer": ("getSocial", {"consumer": MARKS}),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_the_longest_input_does_not_block_the_loop(env: Environment, what: str) -> None:
    await env.person("ann")
    operation, given = HOSTILE[what]
    waits: list[float] = []

    async def beat() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            waits.append(time.thread_time() - before)

    other = asyncio.ensure_future(beat())
    await asyncio.sleep(0)
    try:
        result = await env.call(operation, given)
    finally:
        await asyncio.sleep(0)
        other.cancel()
    assert max(waits) < PATIENCE
    assert result == [] or result["status"] in (400, 401, 403, 404), result
