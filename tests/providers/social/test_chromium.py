"""A real browser shows the form, and the policy that comes with it stops nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from labkit.lab.provider import Provider
from labkit.providers.social.parts import Application
from tests.providers.social.place import authorize_url

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")

# Names below .localhost it resolves by itself; the lab's CA it does not know.
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run --ignore-certificate-errors "
    "--enable-logging=stderr --dump-dom"
)


def opened(url: str, folder: Path) -> tuple[str, list[str]]:
    """The page that a URL leads to, and what the browser says about it on its console."""
    command = [str(CHROMIUM), *FLAGS.split(), f"--user-data-dir={folder}", url]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return shown.stdout, re.findall(r"CONSOLE:\d+\] (.*)", shown.stderr)


def test_the_form_keeps_to_its_own_policy(acme: Provider, application: Application, tmp_path: Path) -> None:
    page, complaints = opened(authorize_url(acme, application), tmp_path)
    assert 'name="authorize"' in page
    assert "Ann Lee" in page
    assert complaints == []
