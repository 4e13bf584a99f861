"""A target offers people and solutions what checks of social login need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labkit import Lab
from labkit.conformance.people import User
from labkit.conformance.target import LAB_YAML, Target
from labkit.core.errors import LabError


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with Lab(1, config=LAB_YAML) as lab:
        yield Target.local(lab, 1)


@pytest.mark.parametrize("consumer", ["google", "github"])
async def test_a_browser_logs_in_by_way_of_a_provider(target: Target, consumer: str) -> None:
    async with target.stage():
        user, application, browser = User(target), target.application(consumer), target.browser()
        callback = target.url("probe", "/requests/callback")
        secret = application.client_secret.get_secret_value()
        given = {"client_id": application.client_id, "client_secret": secret, "redirect": callback}
        await user.table("createSocial", consumer=consumer, **given)
        page = await browser.request("GET", await user.text("getSocialLoginUrl", consumer=consumer))
        if browser.forms:
            page = await browser.submit(person="p-2")
        assert str(page.url).startswith(f"{callback}?code=")
        token = await user.text("getSocialToken", consumer=consumer, **page.json()["parameters"])
        assert await user.text("socialRequest", consumer=consumer, token=token)


async def test_a_browser_stays_at_the_target(target: Target) -> None:
    async with target.stage():
        with pytest.raises(LabError, match="no HTTPS URL of this lab"):
            await target.browser().request("GET", "https://example.com/")


async def test_browsers_share_no_cookies(target: Target) -> None:
    async with target.stage():
        one, other = target.browser(), target.browser()
        await one.request("POST", target.url("probe", "/responses"), json={"headers": {"Set-Cookie": "a=b"}})
        assert list(one.cookies) == ["a"]
        assert list(other.cookies) == []
