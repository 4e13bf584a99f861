"""A real browser opens the pages, and their own policy stops nothing: there is nothing from outside, and no script."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from labkit.reporting import html
from tests.reporting.test_html import made, run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")

FLAGS = "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run --enable-logging=stderr"


def complaints(page: str, folder: Path) -> list[str]:
    """What the browser says about a page on its console, once it has shown all of it."""
    file = folder / "page.html"
    file.write_text(page)
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [str(CHROMIUM), *FLAGS.split(), profile, "--dump-dom", file.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "</html>" in shown.stdout
    return re.findall(r"CONSOLE:\d+\] (.*)", shown.stderr)


def test_the_pages_ask_for_nothing(tmp_path: Path) -> None:
    for page in (html.report_page(made(run())), html.notebook_page(run("x = 1"))):
        assert complaints(page, tmp_path) == []


def test_what_a_page_must_not_do_would_show(tmp_path: Path) -> None:
    page = html.report_page(made(run())).replace("</body>", "<script>1</script><img src='x.png'></body>")
    found = complaints(page, tmp_path)
    assert len(found) == 2, found
    assert all("Content Security Policy" in each for each in found)
