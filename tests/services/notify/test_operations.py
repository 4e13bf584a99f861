"""Requests of Notify to the provider, and the results that it makes of the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cases import cases
from tests.services.notify.environment import ACCOUNT, BINDING, Environment

SID = f"BS{'3' * 32}"


# ---- results


@cases(
    ("date", "shown"),
    [
        ("2026-02-28T23:59:59.999999Z", "Sat, 28 Feb 2026 23:59:59 +0000"),
        ("2026-02-28T23:59:59-05:00", "Sun, 01 Mar 2026 04:59:59 +0000"),
        ("2024-02-29T12:00:00", "Thu, 29 Feb 2024 12:00:00 +0000"),
        ("Sat, 28 Feb 2026 23:59:59 +0000", "Sat, 28 Feb 2026 23:59:59 +0000"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        (None, None),
        ({"a": 1}, {"a": 1}),
    ],
)
async def test_dates_are_converted_to_rfc_2822(env: Environment, date: object, shown: object) -> None:
    env.set_answer(f"Bindings/{SID}", 200, {"date_created": date})
    assert await env.call("getBinding", BindingSid=SID) == {"date_created": shown}


# ---- credentials


@cases(
    ("configured", "named"),
    [
        ({}, "AccountSid and AuthToken are"),
        ({"AccountSid": "AC1"}, "AuthToken is"),
        ({"AuthToken": "x", "AccountSid": None}, "AccountSid is"),
        ({"AuthToken": None, "AccountSid": "AC1"}, "AuthToken is"),
    ],
)
async def test_the_configuration_must_have_the_credentials(
    env: Environment, configured: dict[str, Any], named: str
) -> None:
    env.context.configuration["acme"]["Notify"] = configured
    for given in ({}, {"AccountSid": "AC1", "AuthToken": "x"}):
        error = await env.refused("getBinding", 400, ServiceSid="IS1", BindingSid=SID, **given)
        assert f"{named} not there" in error
    assert env.web.requests == []


# ---- refusals before any request

CREATE, SEND = "createBinding", "send"
DEEP: Any = {}
for _ in range(3000):
    DEEP = {"a": DEEP}


@cases(
    ("operation", "parameters", "error"),
    [
        *((CREATE, {name: None}, name) for name in BINDING),
        (CREATE, {"Identity": ""}, "Identity"),
        (CREATE, {"Identity": 7}, "Identity"),
        (CREATE, {"Identity": "caf\udce9"}, "Identity"),
        (
            CREATE,
            {"Tag": [str(each) for each in range(21)]},
            "Tag validation failed: expected at most 20, not 21",
        ),
        (CREATE, {"Tag": ["a", 1]}, "Tag.1"),
        (CREATE, {"ServiceSid": ""}, "ServiceSid"),
        (CREATE, {"AccountSid": "AC:1"}, "AccountSid"),
        (CREATE, {"AccountSid": "AC\r\n"}, "AccountSid"),
        (CREATE, {"AuthToken": ""}, "AuthToken"),
        (CREATE, {"AuthToken": "a\nb"}, "AuthToken"),
        (CREATE, {"AuthToken": "x" * 201}, "AuthToken"),
        (CREATE, {"AuthToken": "\udce9"}, "AuthToken"),
        (SEND, {"Ttl": "9" * 5000}, "Ttl"),
        *((SEND, {"Data": each}, "Data") for each in ("[]]", "null", "{'a': 1}", "[" * 9999)),
        *((SEND, {"Apn": each}, "Apn") for each in ({"a": float("nan")}, {"a": b"b"}, DEEP)),
        *((SEND, {"Gcm": each}, "Gcm") for each in ('{"a": NaN}', '{"a": Infinity}', '{"a": "\\ud800"}')),
        (SEND, {"Fcm": {"a": "\udc80"}}, "Fcm validation failed: expected valid Unicode"),
        (SEND, {"Sms": {"body": "x" * 65_537}}, "Sms"),
        (SEND, {"Sms": f'{{"body": "{"x" * 65_537}"}}'}, "Sms"),
        (SEND, {"Body": "x" * 65_537}, "Body"),
        (SEND, {"Body": "caf\udce9"}, "Body"),
        (SEND, {"Title": ["a"]}, "Title"),
        ("listBinding", {"AuthToken": None}, "AuthToken"),
        ("listBinding", {"Identity": ["é" * 100] * 20}, "bytes in a URL"),
        ("listBinding", {"Identity": ["a"] * 101}, "Identity"),
        ("getBinding", {}, "Parameter BindingSid is required."),
        ("deleteBinding", {}, "Parameter BindingSid is required."),
    ],
)
async def test_wrong_arguments_are_refused_by_name(
    env: Environment, operation: str, parameters: dict[str, Any], error: str
) -> None:
    given = {**BINDING, **parameters} if operation == CREATE else parameters
    assert error in await env.refused(operation, 400, **given)
    assert env.web.requests == []


# ---- refusals by the provider


@cases("status", [400, 401, 403, 404, 429, 500, 503])
async def test_the_status_is_the_providers(env: Environment, status: int) -> None:
    env.set_answer("Notifications", status, {"code": "x", "message": None, "status": 200})
    found = json.loads(await env.refused("send", status, Tag="all"))
    assert found == {"code": None, "message": "", "more_info": None, "status": status}


async def test_a_refusal_is_shortened_and_does_not_repeat_the_token(env: Environment) -> None:
    token = ACCOUNT["AuthToken"]
    env.set_answer("Notifications", 401, {"message": f"{token} is wrong {'!' * 9999}", "more_info": token})
    error = await env.refused("send", 401, Tag="all")
    assert token not in error
    assert len(error) < 1200


@cases(
    ("status", "answer"),
    [
        (200, "<html>"),
        (201, "[]"),
        (200, ""),
        (302, {}),
        (404, "Not Found"),
        (500, ""),
        (200, "[" * 99999),
        (200, '"'),
    ],
)
async def test_an_answer_that_no_such_provider_gives_is_a_bad_gateway(
    env: Environment, status: int, answer: object
) -> None:
    env.set_answer("Notifications", status, answer)
    assert "provider" in await env.refused("send", 502, Tag="all")


async def test_a_late_answer_is_a_gateway_timeout(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    async def late(*request: object) -> tuple[int, str]:
        raise TimeoutError

    monkeypatch.setattr(env.web, "request", late)
    assert "in time" in await env.refused("send", 504, Tag="all")
