"""A real browser shows the form, and the policy that comes with it stops nothing."""

from __future__ import annotations

from pathlib import Path

from labkit.lab.provider import Provider
from labkit.providers.social.messages import Application
from tests.chromium import needs_chromium, shown
from tests.providers.social.clients import authorize_url

pytestmark = needs_chromium


def test_the_form_keeps_to_its_own_policy(acme: Provider, application: Application, tmp_path: Path) -> None:
    url = authorize_url(acme, application)
    page, complaints = shown(url, tmp_path, "--ignore-certificate-errors")  # it does not know the lab's CA
    assert 'name="authorize"' in page
    assert "Ann Lee" in page
    assert complaints == []
