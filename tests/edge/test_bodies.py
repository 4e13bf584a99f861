"""Bodies of requests and answers in the journal."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Lab
from labkit.core.redaction import HIDDEN
from labkit.edge.frame import LONGEST, shown_body

ISSUED = "a1" * 20


class Place:
    """Answer of a site about its owner."""

    def __init__(self, product: str | None = None, solution: str | None = None) -> None:
        self.product = product
        self.solution = solution


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"", ""),
        ("état".encode(), "état"),
        (b"\xff\xfe", ""),
        (f"token is {ISSUED}".encode(), "token is ***"),
        (b'{"access_token": "x", "n": [1, {"pin": 2}]}', '{"access_token": "***", "n": [1, {"pin": "***"}]}'),
        (b"[1]", "[1]"),
        (b"12", "12"),
        (b"{", "{"),
        (b"[" * 20_000, "[" * 20_000),
        (b"a" * LONGEST, "a" * LONGEST),
        (b"a" * (LONGEST + 1), ""),
    ],
)
def test_text_is_shown_without_secrets(body: bytes, shown: str) -> None:
    site: Any = Place(solution="app")
    assert shown_body(site, body) == shown


def test_only_of_devices_and_solutions() -> None:
    sites: list[Any] = [Place(), Place(product="p")]
    assert [shown_body(each, b"a") for each in sites] == ["", "a"]
    assert shown_body(sites[1], None) == ""


@pytest.mark.parametrize("values", [True, False])
def test_the_journal_has_them_if_the_settings_say_so(values: bool) -> None:
    with Lab(seed=7, journal={"values": values}) as lab:
        apps = [lab.solution(name) for name in ("app", "other")]
        for each in apps:
            each.route("GET", "/é", lambda name=each.id: {"name": name})
            each.get("/é")
        product = lab.product("meter", resources={"text": "string"})
        device = product.device("d").activate()
        device.write(text="ä=b")
        device.read("text")
        details = [each.detail for each in lab.journal.select("request")]
        bodies = [each["body"] for each in details if each is not None and "body" in each]
        given = [each["given"] for each in details if each is not None and "given" in each]
    if values:
        assert bodies == ['{"name": "app"}', '{"name": "other"}', HIDDEN, "text=%C3%A4%3Db"]  # and the token
        assert given == ["id=d", "text=%C3%A4%3Db"]
    else:
        assert bodies == given == []
