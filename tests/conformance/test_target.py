"""Clients of a target: browsers with their own cookies, and reused connections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from labkit import Lab
from labkit.conformance.target import LAB_YAML, Target
from labkit.core.errors import LabError
from labkit.fleet import transport
from labkit.settings import LabSettings


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with Lab(1, config=LAB_YAML) as lab:
        yield Target.local(lab, 1)


async def test_a_browser_stays_at_the_target(target: Target) -> None:
    async with target.scope():
        with pytest.raises(LabError, match="no HTTPS URL of this lab"):
            await target.browser().request("GET", "https://example.com/")


async def test_browsers_share_no_cookies(target: Target) -> None:
    async with target.scope():
        one, other = target.browser(), target.browser()
        await one.request("POST", target.url("probe", "/responses"), json={"headers": {"Set-Cookie": "a=b"}})
        assert list(one.cookies) == ["a"]
        assert list(other.cookies) == []


async def test_connections_last_beyond_a_check_only_on_request(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []
    connected = transport.connected

    async def counted(*args: Any) -> Any:
        names.append(args[-1].partition(".")[0])
        return await connected(*args)

    monkeypatch.setattr(transport, "connected", counted)

    async def two_checks() -> None:
        for _ in range(2):
            async with target.scope():
                await target.client("probe").request("GET", "/")
                await target.activated("token-open")
                await target.activated("password-open")
                await target.browser().request("GET", target.url("probe", "/"))

    async with target.lasting_connections():
        await two_checks()
        assert sorted(names) == ["password-open", "probe", "token-open"]
        await target.close_connections()
        await two_checks()
        assert len(names) == 6
    await two_checks()
    assert len(names) == 14


def test_misspelt_calls_of_checks_are_no_warnings(lab: Lab) -> None:
    Target.local(lab, 1, LabSettings(), {})
    solution = lab.solution("acme")
    solution.route("GET", "/a", lua="return Keystor.get{}")
    assert solution.get("/a").json()["status"] == 404  # a warning would be an error here
