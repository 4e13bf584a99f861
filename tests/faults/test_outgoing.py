"""Faults of the requests that the platform itself sends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from labkit import Lab
from labkit.context import Context
from labkit.settings import FaultSettings, build
from tests.context import make_context
from tests.providers.social.test_login import GUIDE, linked


class Server:
    """Outbound client that answers and counts its requests."""

    def __init__(self, text: str = '{"a": 1, "b": 2}') -> None:
        self.asked = 0
        self.text = text

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None
    ) -> tuple[int, str]:
        self.asked += 1
        self.last = (url, dict(headers), body)
        return 200, self.text


async def ask(
    context: Context,
    server: Server,
    url: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: str | None = None,
) -> tuple[int, str]:
    outgoing = context.faults.outgoing
    assert outgoing is not None
    return await outgoing.around(method, url, headers or {}, body, server.send)


def context_with(*faults: dict[str, Any]) -> Context:
    context = make_context()
    for each in faults:
        context.faults.add(build(FaultSettings, each))
    return context


async def test_a_fault_before_the_request_is_sent() -> None:
    server = Server()
    url = "https://api.example.com:8443/a?b=c"
    context = context_with(
        {"where": "https://api.example.com", "status": 503, "first": 1},
        {"where": "GET https://*.example.com/a", "body": {"x": 1}, "when": "before", "first": 1},
        {"where": "https://api.example.com:8443/a?b=*", "cut": "before", "first": 1},
        {"where": "https://never", "cut": "before"},
    )
    assert await ask(context, server, url) == (503, "")
    assert await ask(context, server, url) == (200, '{"x": 1}')
    with pytest.raises(OSError, match=r"https://api.example.com/a cannot be reached: fault 3"):
        await ask(context, server, url)
    assert server.asked == 0
    assert await ask(context, server, url) == (200, server.text)


async def test_a_fault_after_the_answer() -> None:
    server = Server()
    url = "https://api.example.com/a"
    context = context_with(
        {"where": "https://api.example.com/*", "cut": "after", "first": 1},
        {"where": "https://api.example.com/*", "drop": "a", "replace": {"b": "é"}, "first": 1},
        {"where": "https://api.example.com/*", "status": 500, "when": "after", "if_status": 200, "first": 1},
        {"where": "https://api.example.com/*", "cut": "after", "if_status": 404},
    )
    with pytest.raises(OSError, match="gave no answer: fault 1"):
        await ask(context, server, url)
    assert await ask(context, server, url) == (500, json.dumps({"b": "é"}, ensure_ascii=False))
    assert await ask(context, server, url) == (200, server.text)
    assert server.asked == 3
    form = Server("a=1&c=x")
    context = context_with({"where": "https://api.example.com", "drop": "a"})
    assert await ask(context, form, url) == (200, "c=x")


async def test_the_journal_has_the_cause_of_a_fault() -> None:
    context = context_with({"where": "https://x", "status": 500})
    cause = context.journal.record("call", "acme", "Notify.send")
    await ask(context, Server(), "https://x", headers={"X-Labkit-Cause": str(cause)})
    [hit] = context.journal.select("fault")
    assert (hit.actor, hit.cause) == ("outgoing/x", cause)


@pytest.mark.parametrize(
    ("fault", "shown"),
    [({"cut": "after"}, "google does not answer"), ({"drop": "access_token"}, "without an access token")],
)
def test_a_login_whose_token_request_fails(lab: Lab, fault: dict[str, Any], shown: str) -> None:
    guide = lab.solution("metrics", path=GUIDE)
    google = linked(lab, guide, "google", "/social/handle/google")
    added = lab.faults.add("POST https://google.social.*", first=1, **fault)
    answer = google.login(guide.url("/social/handle/google/loginurl"), "ann")
    assert (added.hits, shown in answer.text) == (1, True), answer.text
    assert google.inbox[-1].status == 200  # the request was answered
    again = google.login(guide.url("/social/handle/google/loginurl"), "ann")
    assert again.json()["sub"] == "ann"
