"""A real browser: its own policy stops nothing on the form, and it follows a login to its end."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from labkit import Lab
from labkit.lab.provider import Provider
from labkit.providers.social.parts import Application
from tests.providers.social.place import authorize_url
from tests.providers.social.test_login import linked, with_handlers

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


def test_a_login_ends_at_the_solution(lab: Lab, tmp_path: Path) -> None:
    solution = with_handlers(lab)
    google = linked(lab, solution, "google", "/social/handle/google")
    google.consent("ann")
    page, _ = opened(solution.url("/social/handle/google/loginurl"), tmp_path)
    assert '"given_name": "Ann"' in page
