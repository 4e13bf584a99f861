"""A real browser opens the pages, and their own policy stops nothing: there is nothing from outside, and no script."""

from pathlib import Path

from labkit.reporting import html
from tests.chromium import needs_chromium, shown
from tests.reporting.test_html import made, run

pytestmark = needs_chromium


def complaints(page: str, folder: Path) -> list[str]:
    """What the browser says about a page on its console, once it has shown all of it."""
    file = folder / "page.html"
    file.write_text(page)
    text, told = shown(file.as_uri(), folder / "profile")
    assert "</html>" in text
    return told


def test_the_pages_ask_for_nothing(tmp_path: Path) -> None:
    for page in (html.report_page(made(run())), html.notebook_page(run("x = 1"))):
        assert complaints(page, tmp_path) == []


def test_what_a_page_must_not_do_would_show(tmp_path: Path) -> None:
    page = html.report_page(made(run())).replace("</body>", "<script>1</script><img src='x.png'></body>")
    found = complaints(page, tmp_path)
    assert len(found) == 2, found
    assert all("Content Security Policy" in each for each in found)
