"""Operations on what a lab holds, each by plain HTTP, by the handles of Python, and by a client made from OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from labkit import Lab
from labkit.dev.book import NOTEBOOKS
from tests.control.over_http.test_generated_client import GeneratedClient, client

pytestmark = pytest.mark.xdist_group("served")
__all__ = ["client"]

FILL = """
Keystore.command{key = "seen", command = "sadd", args = {"d"}}
User.createUser{email = "ann@example.com", name = "Ann", password = "correct horse"}
Tsdb.write{metrics = {t = 21}, tags = {sn = "d"}}
Timer.sendInterval{timer_id = "tick", duration = 60000, message = {token = "secret", text = "look"}}
Email.send{from = "a@example.com", to = "ann@example.com", subject = "Hello",
  text = "https://" .. Config.solution().domain .. "/welcome"}"""


def restored(lab: Lab) -> dict[str, Any]:
    lab.restore(name="past")
    return {}


D = {"product": "a", "identity": "d"}
A = {"solution": "a"}
FAULT: Any = {"where": "device datapoint", "lost": True, "first": 2, "identity": "d"}
Step = tuple[str, dict[str, Any], Callable[[Lab], Any], Any]
STEPS: list[Step] = [
    ("devices.act", {**D, "action": "read", "aliases": ["t"]},
     lambda lab: lab.product("a").act("d", "read", aliases=["t"]), {"status": 401}),
    ("devices.act", {**D, "action": "activate"}, lambda lab: lab.product("a").act("d", "activate"), {"status": 200}),
    ("devices.act", {**D, "action": "write", "values": {"t": "warm"}},
     lambda lab: lab.product("a").act("d", "write", {"t": "warm"}),
     {"status": 400, "reason": "t: expected a number"}),
    ("devices.act", {**D, "action": "write", "values": {"t": 21.5}, "aliases": ["t"]},
     lambda lab: lab.product("a").act("d", "write", {"t": 21.5}, aliases=["t"]),
     {"status": 200, "values": {"t": "21.5"}}),
    ("devices.act", {**D, "action": "poll", "aliases": ["t"], "timeout": 0.0, "since": "5"},
     lambda lab: lab.product("a").act("d", "poll", aliases=["t"], timeout=0, since="5"),
     {"status": 200, "modified": "1767225600"}),
    ("devices.act", {**D, "action": "download", "content": "fw"},
     lambda lab: lab.product("a").act("d", "download", content="fw"), {"status": 404}),
    ("devices.cut", D, lambda lab: lab.product("a").cut("d"), 0),
    ("solutions.request", {"id": "a", "method": "POST", "path": "/no?a=1", "body": "{}"},
     lambda lab: {"status": lab.solution("a").request("POST", "/no?a=1", content="{}").status_code}, {"status": 404}),
    ("faults.describe", {"fault": FAULT}, lambda lab: lab.faults.describe(**FAULT),
     {"sentence": "device datapoint: lost, first 2, identity d", "seen": 0}),
    ("polls.all", {}, lambda lab: lab.polls(), []),
    ("solutions.run", {"id": "a", "lua": FILL}, lambda lab: {"error": lab.solution("a").run(FILL)}, {"error": None}),
    ("keystore.keys", {**A, "match": "ee"}, lambda lab: lab.solution("a").keystore_keys("ee"), ["seen"]),
    ("keystore.get", {**A, "key": "seen"}, lambda lab: lab.solution("a").keystore_value("seen"),
     {"type": "set", "value": ["d"], "seconds": None}),
    ("users.search", {**A, "text": "ANN"}, lambda lab: lab.solution("a").users("ANN"),
     [{"id": 1, "email": "ann@example.com", "name": "Ann", "status": 0}]),
    ("series.search", {**A, "text": "d"}, lambda lab: lab.solution("a").series("d"),
     [{"name": "t", "field": "", "tags": {"sn": "d"}}]),
    ("timers.all", A, lambda lab: lab.solution("a").timers(),
     [{"timer_id": "tick", "message": {"token": "***", "text": "look"}, "repeats": "interval", "every": 60}]),
    ("mailbox.follow", {"to": "ann@example.com"}, lambda lab: lab.mailbox.follow("ann@example.com"),
     {"url": "https://a.apps.lab.localhost/welcome", "status": 404}),
    ("journal.search", {"device": "a/d", "status": 400, "text": "expected a number"},
     lambda lab: lab.journal.search("expected a number", device="a/d", status=400),
     [{"kind": "request", "summary": "POST /onep:v1/stack/alias"}]),
    ("solutions.check", {"id": "a"}, lambda lab: lab.solution("a").check(), {"errors": [], "warnings": []}),
    ("lab.snapshot", {"name": "past"}, lambda lab: lab.snapshot("past"), {"name": "past", "time": 1767225600}),
    ("lab.reset", {}, lambda lab: lab.reset(), None),
    ("lab.restore", {"name": "past"}, restored, {}),
    ("lab.snapshots", {}, lambda lab: lab.snapshots, [{"name": "past"}]),
    ("lab.remove_snapshot", {"name": "past"}, lambda lab: lab.remove_snapshot("past"), None),
    ("keystore.keys", A, lambda lab: lab.solution("a").keystore_keys(), ["seen"]),
]  # fmt: skip


def plain(result: Any) -> Any:
    """Return a result as JSON has it: of a page, the items; URLs without ports."""
    if isinstance(result, BaseModel):
        result = result.model_dump(mode="json")
    elif is_dataclass(result) and not isinstance(result, type):
        result = asdict(result)
    elif hasattr(result, "to_dict"):  # of the generated client
        result = result.to_dict()
    if isinstance(result, list):
        return [plain(each) for each in result]
    if isinstance(result, dict):
        made = {name: plain(each) for name, each in result.items()}
        return made["items"] if "cursor" in made else made
    return re.sub(r":\d+/", "/", result) if isinstance(result, str) else result


def part(expected: Any, result: Any) -> Any:
    """Return the parts of a result that are expected."""
    if isinstance(expected, dict) and isinstance(result, dict):
        return {name: part(each, result.get(name)) for name, each in expected.items()}
    if isinstance(expected, list) and isinstance(result, list) and len(expected) == len(result):
        return [part(*pair) for pair in zip(expected, result, strict=True)]
    return result


def expect(call: Callable[[Step], Any]) -> None:
    for step in STEPS:
        result = plain(call(step))
        assert part(step[3], result) == step[3], (step[0], result)


def test_by_http(served_control: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {served_control['token']}"}
    with httpx.Client(base_url=served_control["url"], headers=headers) as client:
        expect(lambda step: client.post(f"/v1/{step[0].replace('.', '/')}", json=step[1]).json())


def test_by_handles(served_control: dict[str, str]) -> None:
    with Lab.connect(*served_control.values()) as lab:
        expect(lambda step: step[2](lab))


@pytest.mark.sampled
def test_by_a_generated_client(client: GeneratedClient) -> None:
    def call(step: Step) -> Any:
        subject, _, name = step[0].partition(".")
        title = "".join(each.title() for each in [subject, *name.split("_")])
        arguments = client.module("models")
        body = getattr(arguments, f"{title}Arguments").from_dict(step[1])
        return client.module(f"api.{subject}.{subject}_{name}").sync(client=client.connection, body=body)

    expect(call)


def test_the_book_calls_each() -> None:
    page = (NOTEBOOKS / "book" / "how-to" / "see-what-a-served-lab-holds.md").read_text()
    missing = {key for key, *_ in STEPS if f"ask {key.replace('.', '/')} " not in page}
    assert missing == {"solutions.run"}
