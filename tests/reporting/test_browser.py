"""The pages of reports in a real browser: their content security policy blocks nothing, and they load nothing."""

import json
from pathlib import Path

import nbformat
import pytest

from labkit.reporting import html
from labkit.reporting.report import report_page
from labkit.reporting.run_notebook import NotebookRun
from tests.chromium import Tab, barriers, browser, needs_axe, needs_chromium
from tests.reporting.test_html import made, run

pytestmark = [needs_chromium, pytest.mark.xdist_group("chromium")]  # these tests share a browser


async def log_entries(tab: Tab, page: str, folder: Path) -> list[str]:
    """Return the browser's log entries, after all of this page was shown."""
    file = folder / "page.html"
    file.write_text(page)
    await tab.goto(file.as_uri())
    assert "</html>" in await tab.page()
    return await tab.log_entries()


async def test_the_pages_load_nothing_and_a_violation_would_show(tmp_path: Path, chromium_port: int) -> None:
    async with browser(chromium_port) as tab:
        for page in (report_page(made(run())), html.notebook_page(run("x = 1"))):
            assert await log_entries(tab, page, tmp_path) == []
        page = report_page(made(run())).replace("</body>", "<script>1</script><img src='x.png'></body>")
        found = await log_entries(tab, page, tmp_path)
        assert len(found) == 2, found
        assert all("Content Security Policy" in each for each in found)


# ---- narrow screens and paper

WORD = "x" * 300  # a word without a break
CUT = """JSON.stringify([...document.querySelectorAll('body *')].filter(each => {
    const style = getComputedStyle(each)
    const clips = [style.overflowX, style.overflowY].some(value => value !== 'visible')
    return clips && !each.closest('.bar') && each.scrollWidth > each.clientWidth + 1
}).map(each => each.tagName + '.' + each.className))"""
HIDDEN = """JSON.stringify([...document.querySelectorAll('.req')].filter(
    each => !each.getBoundingClientRect().height || !each.checkVisibility({contentVisibilityAuto: true})
).map(each => each.id))"""


def wide() -> NotebookRun:
    """A notebook with an output wider than any page."""
    book = run(f"value = '{WORD}'")
    row = "".join(f"<td>{WORD[:40]}</td>" for _ in range(9))
    book.notebook.cells[-1].outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=f"{WORD}\n"),
        nbformat.v4.new_output("execute_result", data={"text/html": f"<table><tr>{row}</tr></table>"}),
    ]
    return book


@pytest.fixture
def pages(tmp_path: Path) -> list[str]:
    """The URLs of a report and of a page, each with words too long for a line."""
    files = {
        "report.html": report_page(made(run()))
        .replace("onep:v1", WORD)
        .replace("gist", WORD)
        .replace("reporting/books", WORD),
        "page.html": html.notebook_page(wide()),
    }
    for name, text in files.items():
        assert WORD in text
        (tmp_path / name).write_text(text)
    return [(tmp_path / name).as_uri() for name in files]


async def test_they_fit_a_screen_of_400_pixels(pages: list[str], chromium_port: int) -> None:
    async with browser(chromium_port) as tab:
        await tab.size(400)
        for page in pages:
            await tab.goto(page)
            assert await tab.evaluate("document.documentElement.scrollWidth") <= 400, page


@needs_axe
async def test_nothing_keeps_people_from_using_them(
    pages: list[str], tmp_path: Path, chromium_port: int
) -> None:
    async with browser(chromium_port) as tab:
        for page in pages:
            assert await barriers(tab, page) == [], page
        barred = tmp_path / "barred.html"
        barred.write_text(report_page(made(run())).replace("<main>", "<div>").replace("</main>", "</div>"))
        assert len(await barriers(tab, barred.as_uri())) >= 4  # in each size and colours


async def test_print_cuts_nothing_and_shows_the_requirements_that_failed(
    pages: list[str], chromium_port: int
) -> None:
    async with browser(chromium_port) as tab:
        for page in pages:
            await tab.size(1000)
            await tab.goto(page)
            await tab.size(720, "print")
            assert await tab.evaluate(CUT) == "[]", page
            assert await tab.evaluate(HIDDEN) == ('["AA-TWO-1"]' if "report" in page else "[]"), page
            assert await tab.evaluate("document.documentElement.scrollWidth") <= 720, page


# Whether each box is cut, and its mark, once the animations of two frames have run.
MARKS = """new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(JSON.stringify(
    [...document.querySelectorAll('.output, .output table')].map(each =>
        [each.scrollWidth > each.clientWidth, getComputedStyle(each, '::before').visibility]))))))"""
LINES = """(() => {
    const range = document.createRange(), lines = new Set()
    range.selectNodeContents(document.querySelector('.input pre'))
    for (const each of range.getClientRects()) if (each.width) lines.add(Math.round(each.bottom))
    return lines.size
})()"""


async def test_what_is_cut_says_that_it_scrolls(tmp_path: Path, chromium_port: int) -> None:
    book = wide()
    narrow = "<table><tr><td>1</td></tr></table>"
    book.notebook.cells[-1].outputs.append(
        nbformat.v4.new_output("execute_result", data={"text/html": narrow})
    )
    (tmp_path / "page.html").write_text(html.notebook_page(book))
    async with browser(chromium_port) as tab:
        await tab.size(400)
        await tab.goto((tmp_path / "page.html").as_uri())
        marks = json.loads(await tab.evaluate(MARKS))
        assert [is_cut for is_cut, _ in marks] == [False, False, True, False, False]
        assert [visibility == "visible" for _, visibility in marks] == [is_cut for is_cut, _ in marks]


async def test_code_keeps_its_lines_on_a_narrow_screen(tmp_path: Path, chromium_port: int) -> None:
    (tmp_path / "page.html").write_text(html.notebook_page(run(f"def f():\n    return '{WORD}'")))
    async with browser(chromium_port) as tab:
        await tab.size(400)
        await tab.goto((tmp_path / "page.html").as_uri())
        assert await tab.evaluate(LINES) == 2
        await tab.size(400, "print")  # on paper nothing can be scrolled
        assert await tab.evaluate(LINES) > 2
