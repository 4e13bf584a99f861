"""A target gives each person a browser of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labkit import Lab
from labkit.conformance.target import LAB_YAML, Target
from labkit.core.errors import LabError


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
