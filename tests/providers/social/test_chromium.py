"""The form in a real browser, whose content security policy blocks nothing that the form needs."""

from __future__ import annotations

import pytest

from labkit.lab.provider import Provider
from labkit.providers.social.messages import Application
from tests.chromium import browser, needs_chromium
from tests.providers.social.clients import authorize_url

pytestmark = [needs_chromium, pytest.mark.xdist_group("chromium")]  # these tests share a browser


async def test_the_form_complies_with_its_own_policy(
    acme: Provider, application: Application, chromium_port: int
) -> None:
    async with browser(chromium_port, insecure=True) as tab:  # it does not trust the lab's CA
        await tab.goto(authorize_url(acme, application))
        page = await tab.page()
        assert 'name="authorize"' in page
        assert "Ann Lee" in page
        assert await tab.log_entries() == []
