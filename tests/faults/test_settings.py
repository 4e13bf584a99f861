"""Faults in settings: an invalid one is refused with the expected form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.errors import SettingsError
from labkit.settings import FaultSettings, LabSettings, build, load
from labkit.settings.places import parse_place

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"status": 500}, "where: is required"),
    ({"where": "", "status": 500}, "where: expected at least 1 character"),
    ({"where": "FETCH /x", "status": 500}, "where: expected a method .*not 'FETCH'"),
    ({"where": "x", "status": 500}, "where: expected a request .POST /path., .*not 'x'"),
    ({"where": "a b c", "lost": True}, "where: expected a request"),
    ({"where": "GET /" + "x" * 600, "status": 500}, "where: expected at most 512 characters"),
    ({"where": "GET /x"}, "expected an action for 'GET /x', one of: body, cut, delay, drop"),
    ({"where": "GET /x", "stats": 500}, "stats: unknown key"),
    ({"where": "GET /x", "status": 99}, "status: expected greater than or equal to 200"),
    ({"where": "GET /x", "status": True}, "status: expected a valid integer"),
    ({"where": "GET /x", "lost": True}, r"lost: is not for a request \(GET /x\), but: body, cut"),
    ({"where": "User.x", "cut": "before"}, r"cut: is not for a call \(User.x\)"),
    ({"where": "device datapoint", "status": 500}, "status: is not for an event"),
    ({"where": "https://x", "solution": "acme", "status": 500}, "solution: is not for an outgoing"),
    ({"where": "provider x y", "status": 500}, "status: is not for a provider"),
    ({"where": "User.x", "status": 200}, "status: expected 400 to 599 for a call"),
    ({"where": "GET /x", "cut": "soon"}, "cut: expected 'before', 'inside' or 'after'"),
    ({"where": "https://x", "cut": "inside"}, "cut: expected before or after for an outgoing request"),
    ({"where": "GET /x", "cut": "after", "status": 500}, "cut cannot go with status"),
    ({"where": "GET /x", "cut": "after", "when": "after"}, "when cannot go with cut"),
    ({"where": "GET /x", "body": "x", "drop": "a"}, "body cannot go with drop"),
    (
        {"where": "GET /x", "drop": "a", "when": "before", "status": 500},
        "status cannot go with an action that changes",
    ),
    (
        {"where": "GET /x", "drop": "a", "when": "before", "identity": "t"},
        "identity: the device of a request is unknown",
    ),
    (
        {"where": "GET /x", "if_answer": {"a": "b"}, "status": 500, "when": "before"},
        "if_answer needs an answer",
    ),
    ({"where": "GET /x", "if_given": {"a": "b"}}, "expected an action for 'GET /x'"),
    ({"where": "device datapoint", "if_answer": {"a": "b"}, "lost": True}, "if_answer: is not for an event"),
    ({"where": "provider x y", "if_given": {"a": "b"}, "does": "slow"}, "if_given: is not for a provider"),
    ({"where": "GET /x", "if_given": {"a": 5}, "status": 500}, "if_given.a: expected a valid string"),
    (
        {"where": "GET /x", "put": {"@Content-Length": "5"}},
        "put: expected a header name that does not set the framing",
    ),
    (
        {"where": "GET /x", "edit": {"a": "louder"}},
        r"edit.a: expected an edit \(lower, upper, .*not 'louder'",
    ),
    ({"where": "GET /x", "edit": {"a": ["add", "1"]}}, r"edit.a: expected an edit .*not \['add', '1'\]"),
    ({"where": "GET /x", "edit": {"a": "[1:2:0]"}}, r"edit.a: expected a part .*not '\[1:2:0\]'"),
    ({"where": "GET /x", "edit": {}}, "edit: expected at least 1 item"),
    ({"where": "GET /x", "headers": {"A": "b"}, "when": "before"}, "headers before processing need a status"),
    ({"where": "GET /x", "headers": {"A": "b\r\nC: d"}}, "headers.A: expected a value on one line"),
    (
        {"where": "GET /x", "headers": {"Content-Length": "3"}},
        "expected a header name that does not set the framing",
    ),
    ({"where": "GET /x", "headers": {}}, "headers: expected at least 1 item"),
    ({"where": "GET /x", "if_status": 204, "status": 500, "when": "before"}, "if_status needs an answer"),
    ({"where": "GET /x", "delay": 0}, "delay: expected greater than 0"),
    ({"where": "GET /x", "delay": float("inf")}, "delay: expected"),
    ({"where": "GET /x", "delay": 1e9}, "delay: expected less than or equal to"),
    ({"where": "GET /x", "delay": "x"}, "delay: expected a valid number"),
    ({"where": "GET /x", "delay": [1]}, r"delay: expected a number, or two as in \[0.1, 2\], not 1"),
    ({"where": "GET /x", "delay": [1, 2, 3]}, "delay: expected a number, or two .*, not 3"),
    (
        {"where": "GET /x", "delay": [2, 1]},
        "delay: expected a smaller number before a larger one, not 2 and 1",
    ),
    (
        {"where": "GET /x", "delay": (1, 1)},
        "delay: expected a smaller number before a larger one, not 1 and 1",
    ),
    ({"where": "GET /x", "delay": [-1, 2]}, r"delay\[0\]: expected greater than or equal to 0"),
    ({"where": "GET /x", "delay": [0, float("inf")]}, r"delay\[1\]: expected"),
    ({"where": "GET /x", "delay": [0, True]}, r"delay\[1\]: expected a valid number"),
    ({"where": "GET /x", "status": 500, "after": 0}, "after: expected greater than 0"),
    ({"where": "GET /x", "status": 500, "seconds": [1, 2]}, "seconds: expected a valid number"),
    ({"where": "a b", "lost": True, "doubled": True}, "lost cannot go with doubled"),
    ({"where": "User.x", "lost": True, "status": 500}, "lost cannot go with status"),
    ({"where": "User.x", "lost": True, "body": {}}, "lost cannot go with body"),
    ({"where": "User.x", "lost": True, "when": "after"}, "when cannot go with lost"),
    ({"where": "User.x", "lost": True, "if_status": 404}, "if_status needs an answer"),
    ({"where": "User.x", "lost": True, "if_answer": {"a": "b"}}, "if_answer needs an answer"),
    ({"where": "https://x", "lost": True}, "lost: is not for an outgoing"),
    ({"where": "User.x", "restart": True, "status": 500}, "restart cannot go with status"),
    ({"where": "GET /x", "restart": True, "cut": "after"}, "restart cannot go with cut"),
    ({"where": "a b", "restart": True, "doubled": True}, "restart cannot go with doubled"),
    ({"where": "a b", "restart": True, "delay": 5}, "restart cannot go with delay for an event"),
    ({"where": "a b", "restart": True, "when": "after"}, "when: is not for an event"),
    ({"where": "provider x y", "does": "slow", "restart": True}, "restart: is not for a provider"),
    ({"where": "User.x", "status": 500, "down": 5}, "down needs restart, after which"),
    ({"where": "User.x", "restart": True, "down": -1}, "down: expected greater than or equal to 0"),
    ({"where": "User.x", "restart": True, "down": [1, 2]}, "down: expected a valid number"),
    (
        {"where": "User.x", "restart": True, "when": "before", "if_status": 200},
        "if_status needs an answer",
    ),
    ({"where": "a b", "late": 1.0, "delay": 1.0}, "late cannot go with delay"),
    ({"where": "GET /x", "status": 500, "every": 2, "chance": 0.5}, "every cannot go with chance"),
    ({"where": "GET /x", "status": 500, "first": 0}, "first: expected greater than or equal to 1"),
    ({"where": "GET /x", "status": 500, "every": 1.5}, "every: expected a valid integer"),
    ({"where": "GET /x", "status": 500, "chance": 0}, "chance: expected greater than 0"),
    ({"where": "GET /x", "status": 500, "chance": 1.1}, "chance: expected less than or equal to 1"),
    ({"where": "GET /x", "status": 500, "identity": []}, "identity"),
    ({"where": "GET /x", "status": 500, "name": " x"}, "name: expected 1 to 100 characters"),
    ({"where": "GET /x", "body": {1, 2}}, "body: expected text, numbers, lists and mappings"),
    ({"where": "GET /x", "body": "x" * 70_000}, "body: expected at most 65536 characters"),
    ({"where": "GET /x", "replace": {"a": float("nan")}}, "replace: expected text, numbers"),
]


@pytest.mark.parametrize(("values", "expected"), WRONG, ids=range(len(WRONG)))
def test_an_invalid_fault_is_refused_with_the_expected_form(values: dict[str, Any], expected: str) -> None:
    with pytest.raises(SettingsError, match=expected):
        build(FaultSettings, values, "")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("POST /onep:v1/stack/alias", ("request", "POST", "/onep:v1/stack/alias")),
        ("* /a b?c=*", ("request", "*", "/a b?c=*")),
        ("User.listUsers", ("call", "User", "listUsers")),
        ("*.*", ("call", "*", "*")),
        ("device datapoint", ("event", "device", "datapoint")),
        ("Lights *", ("event", "lights", "*")),
        ("https://example.com", ("outgoing", "*", "https://example.com/*")),
        ("post https://*.example.com/a*", ("outgoing", "POST", "https://*.example.com/a*")),
        ("*://x?a=b", ("outgoing", "*", "*://x?a=b")),
        ("provider google token", ("provider", "google", "token")),
        ("provider messaging", ("provider", "messaging", "")),
    ],
)
def test_a_text_selects_a_site(text: str, place: tuple[str, str, str]) -> None:
    assert parse_place(text) == place


@given(st.text(max_size=60))
def test_any_text_is_a_site_or_refused(text: str) -> None:
    try:
        parse_place(text)
    except ValueError as error:
        assert "expected" in str(error)  # noqa: PT017


def test_an_invalid_fault_of_a_file_is_refused_with_its_key_and_line(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("faults:\n  - {where: GET /x, status: 500}\n  - where: GET /x\n    status: 5\n")
    with pytest.raises(SettingsError, match=r"faults\[1\].status: .* \(line 4\)"):
        load(file)
    file.write_text("faults:\n  - {where: device datapoint, late: 1.5, identity: [t-*, x]}\n")
    [fault] = load(file).faults
    assert (fault.late, fault.identity) == (1.5, ("t-*", "x"))


def test_the_number_of_faults_is_limited() -> None:
    with pytest.raises(SettingsError, match="faults"):
        build(LabSettings, {"faults": [{"where": "GET /x", "status": 500}] * 1001})


def test_false_and_zero_are_bodies() -> None:
    for body in (False, 0, ""):
        assert build(FaultSettings, {"where": "GET /x", "body": body}).actions == ("body",)
    with pytest.raises(SettingsError, match="body: is not for an event"):
        build(FaultSettings, {"where": "device datapoint", "lost": True, "body": False})
