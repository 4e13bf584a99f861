"""Every operation with hostile values of every parameter.

Each call returns a result or an error object, both valid JSON and UTF-8; a refused call stores
nothing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from labkit.services.user.service import User
from labkit.services.user.socials.web import Consumer
from labkit.storage.database import driver
from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered


def nested(depth: int, *, within: bool = False) -> Any:
    """Return a list within a list …, or an object within an object …"""
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if within else [value]
    return value


NUMBERS: list[Any] = [
    *(None, True, -1, 0, 1.5, float("nan"), float("inf"), -float("inf"), 1e308),
    *(2**53, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 10**5000),
]
TEXTS: list[Any] = [
    *("", " ", "a", "01", "9" * 30, "\ud800", "a\udfffb", "\x00", "a\x00b", "a\r\nX: y", "%", "_", "*"),
    *("'; DROP TABLE user; --", "x" * 100_000, "\u0390" * 9000, "😀" * 300, b"text", b"\xff"),
    *("<b>", "a@b.example", "A <a@b.example>", f"a@{'b.' * 200}c", "a@\ud800.example"),
    *(
        "https://[bad",
        "https://a.example/\r\nX: y",
        "eyJhbGciOiJIUzI1NiJ9.e30.x",
        "a.b.c",
        "GET/{",
        "a::\ud800",
    ),
    *(f"email::like::{chr(0x390) * 9000}", f"name::like::{'%a' * 4900}", f"id::in::{'1,' * 4990}1"),
    *("id::eq::\u0661", "email::eq::\ud800", f"id::eq::{'9' * 5000}", "id::in::"),
]
TABLES: list[Any] = [
    *([], {}, [[]], [{}], [None], ["\ud800"], ["a"], [1], {"a": 1}, {"\ud800": 1}, {1: 2}, {"a": "\ud800"}),
    *({"a": float("nan")}, {"a": 10**5000}, {"exp": 10**400}, {"type": "wildcard"}, {"type": nested(900)}),
    *({"name": "sn", "value": {"type": "wildcard"}}, {"role_id": "keeper", "parameters": 1}, ["sn::1"] * 99),
    *(nested(99), nested(3000), nested(900, within=True), nested(3000, within=True), ["a"] * 20_000),
    *([f"id::in::{'1,' * 4990}1"] * 100, (1, 2), object(), {1, 2}),
]
HOSTILE = [*NUMBERS, *TEXTS, *TABLES]


async def given(env: Environment) -> dict[str, object]:
    """Return valid values for the parameters of all operations."""
    for name, protocol in (("github", "oauth2"), ("twitter", "oauth1")):
        at = f"https://{name}.example"
        env.consumers[name] = Consumer(protocol, f"{at}/a", f"{at}/t", f"{at}/u", f"{at}/r")
        env.web.answers[f"{at}/u"] = (200, "{}")
        about = {"redirect": f"{at}/cb", "client_id": "i", "client_secret": "s"}
        await env.call("createSocial", consumer=name, **about)
    env.web.answers["https://github.example/t"] = (200, '{"access_token": "abc"}')
    answer = (200, "oauth_token=rt&oauth_token_secret=s&oauth_callback_confirmed=true")
    env.web.answers |= {f"https://twitter.example/{path}": answer for path in "rt"}
    client = await registered(env)
    await env.call("createRole", role_id="keeper", parameter=[{"name": "sn"}])
    await env.call("addRolePerm", role_id="keeper", body={"method": "GET", "end_point": "a/{sn}"})
    return {
        "id": client.owner,
        "client_id": client.id,
        "client_secret": client.secret,
        "email": "new@b.example",
        "name": "N",
        "password": "secret1",
        "token": client.token,
        "role_id": "keeper",
        "body": [],
        "perm_id": "GET/a/{sn}",
        "method": "GET",
        "end_point": "a/{sn}",
        "parameter_name": "sn",
        "parameter_value": "1",
        "roles": [],
        "redirect": "https://b.example/",
        "redirect_uri": client.record["redirect"],
        "response_type": "code",
        "consumer": "github",
        "grant_type": "authorization_code",
        "code": "c",
        "key": "k" * 40,
        "payload": {"a": 1},
        "algorithm": "HS256",
        "algorithms": ["HS256"],
        "keys": [],
        "oauth_token": "rt",
        "oauth_verifier": "v",
        "reqToken": await env.call("getSocialLoginUrl", consumer="twitter"),
    }


def parameters(operation: str) -> list[str]:
    declared = User.operations[operation]
    return [*declared.model.model_fields, *(["extra", "key values"] if declared.collects else [])]


class Watch:
    """Returns the content of the database, and reads it again only after a write."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._changes = -1
        self._held = ""

    async def held(self) -> str:
        def dumped(connection: Any) -> str:
            raw = driver(connection)
            if raw.total_changes != self._changes:
                self._held, self._changes = "\n".join(raw.iterdump()), raw.total_changes
            return self._held

        return await self._env.database.read(dumped)


@pytest.mark.parametrize(
    ("operation", "consumer"),
    [
        (operation, consumer)
        for operation in sorted(User.operations)
        for consumer in ("github", *(["twitter"] if "consumer" in parameters(operation) else []))
    ],
)
async def test_an_operation_always_answers_and_stores_nothing_if_it_refuses(
    env: Environment, operation: str, consumer: str
) -> None:
    names = parameters(operation)
    good = await given(env) | {"consumer": consumer}
    watch = Watch(env)
    for name in names:
        for value in HOSTILE:
            arguments = {each: good[each] for each in names if each in good} | {name: value}
            before = await watch.held()
            result = await env.call(operation, arguments)
            shown = json.dumps(result, ensure_ascii=False)
            shown.encode()
            if isinstance(result, dict) and {"type", "error", "status"} <= result.keys():
                assert 400 <= result["status"] < 500, (name, shown[:200])
                assert len(shown) < 5000, (name, shown[:200])
                assert await watch.held() == before, (name, shown[:200])
