"""HTML pages of reports: complete, without external resources, and escaped."""

import inspect
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import httpx
import nbformat
import pytest

from labkit import __version__
from labkit.conformance.check import all_checks
from labkit.conformance.coverage import cover, coverage
from labkit.conformance.expect import exchange
from labkit.conformance.suite import NOTHING
from labkit.reporting import html, matrix
from labkit.reporting.report import Report, report_page
from labkit.reporting.run_notebook import CellError, NotebookRun
from labkit.reporting.verdicts import METADATA
from tests.reporting import books
from tests.reporting.books import notebook, small, verdict

EXCHANGE = "GET /onep:v1 <script>alert(1)</script>"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Page(HTMLParser):
    """Parser that records what a page loads, its links and anchors, and whether its elements are closed in order."""

    VOID = frozenset({"meta", "input", "br", "img", "hr", "col"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        if address := values.get("src"):
            self.loads.append(address)
        if address := values.get("href"):
            (self.links if tag == "a" else self.loads).append(address)
        if name := values.get("id"):
            self.ids.append(name)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes another element"


def offline(text: str) -> Page:
    """Parse a page, which must not load anything."""
    page = Page(text)
    assert not page.open
    assert not page.tags & {"script", "link", "iframe", "object", "embed", "base"}
    assert all(each.startswith("data:image/") for each in page.loads)
    assert all(re.fullmatch(r"#[\w-]*|[\w.-]+\.(html|json|xml)", each) for each in page.links), page.links
    assert not re.search(r"@import|url\(|http-equiv=.refresh", text)
    assert "default-src 'none'" in text
    assert len(set(page.ids)) == len(page.ids)
    assert all(each[1:] in page.ids for each in page.links if each.startswith("#"))
    return page


def made(*runs: NotebookRun, failing: bool = True) -> Report:
    verdicts = [
        verdict("one/first", "AA-ONE-1"),
        verdict("two/other", "AA-ONE-2", "skipped", reason="no clock"),
        verdict("one/second", "AA-ONE-1 AA-ONE-2")
        if not failing
        else verdict(
            "one/second",
            "AA-ONE-1 AA-ONE-2",
            "failed",
            reason="status",
            expected="<204>",
            actual="500",
            exchange=EXCHANGE,
        ),
    ]
    return Report({"seed": 7, "target": "lab"}, runs, tuple(verdicts), small())


def run(*cells: str, error: CellError | None = None) -> NotebookRun:
    return NotebookRun(Path("01_book.ipynb"), notebook("# A <b>title</b>", *cells), error)


class TestTheReport:
    def test_it_loads_nothing_from_outside(self) -> None:
        page = offline(report_page(made(run())))
        assert {"AA-ONE-1", "AA-ONE-2", "AA-TWO-1", "AA-ONE", "AA-TWO"} <= set(page.ids)
        assert {"01_book.html", "verdicts.json", "junit.xml", "#AA-ONE-1"} <= set(page.links)

    def test_it_has_date_target_and_duration(self) -> None:
        whole = replace(
            made(run()), began=1_795_300_000.0, seconds=41.6, address="192.0.2.7:8443", strict=True
        )
        text = report_page(replace(whole, parameters={"target": "x", "only": "AA", "hours": 1.5}))
        for shown in (
            *("2026-11-21 22:26:40 UTC", "42 s", __version__, "a platform at 192.0.2.7:8443"),
            *("below AA", "hours 1.5", "choices that differ, too"),
        ):
            assert shown in text, shown
        assert "the lab itself" in report_page(made(run()))

    def test_a_problem_has_the_sentences_of_its_requirements(self) -> None:
        text = report_page(made(run()))
        problems = text[text.index('id="problems"') : text.index('id="notebooks"')]
        assert "It answers &lt; 1 s | always." in problems
        assert "It answers politely." in problems

    def test_a_failed_check_has_expected_actual_and_the_exchange(self) -> None:
        text = report_page(made(run()))
        problems = text[text.index('id="problems"') : text.index('id="notebooks"')]
        for shown in (
            "&lt;204&gt;",
            "500",
            "GET /onep:v1 &lt;script&gt;",
            "one/second",
            "AA-ONE-2",
            "1 problem",
        ):
            assert shown in (text if shown == "1 problem" else problems), shown
        assert "<script" not in text

    def test_a_failed_check_has_the_command_that_repeats_it(self) -> None:
        failing = replace(made(run()), parameters={"target": "some lab.json", "seed": 8})
        command = "labkit report --target &#39;some lab.json&#39; --seed 8 --only AA-ONE-1 --output reports/AA-ONE-1"
        assert command in report_page(failing)
        own = replace(failing, own=failing.coverage, coverage=NOTHING)
        assert "--checks FOLDER --only AA-ONE-1" in report_page(own)

    def test_a_failed_check_has_its_code_and_the_place_of_it(self) -> None:
        _, line = inspect.getsourcelines(books._nothing)
        text = report_page(made(run()))
        assert f"the code of the check, tests/reporting/books.py:{line}<" in text
        assert "raise AssertionError(&#34;never played&#34;)" in text
        unknown = replace(made(run()), verdicts=(verdict("other/version", "AA-ONE-1", "failed"),))
        assert "the code of" not in report_page(unknown)

    @pytest.mark.parametrize("is_model", [False, True])
    def test_the_code_of_a_check_of_this_package_is_found(self, is_model: bool) -> None:
        check = next(each for each in all_checks() if (each.model is not None) is is_model)
        failed = verdict(check.name, check.requirements[0], "failed")
        text = report_page(replace(made(run()), verdicts=(failed,), coverage=coverage()))
        assert re.search(r"the code of the check, labkit/conformance/\w+/\w+/checks\w*\.py:\d+<", text)
        assert "check(" in text[text.index("the code of") :]

    def test_its_request_is_a_command_of_curl_if_it_was_http(self) -> None:
        sent = httpx.Request(
            "POST", "https://p1.test:8443/x?a=b", content="t=1&\n\nu='", headers={"CIK": "k"}
        )
        shown = exchange(httpx.Response(500, request=sent, text="no"))
        assert shlex.split(html.curl(shown)) == [
            *("curl", "-i", "-X", "POST", "https://p1.test:8443/x?a=b", "-H", "cik: k"),
            *("--data-binary", "t=1&\n\nu='"),
        ]
        read = exchange(httpx.Response(200, request=httpx.Request("GET", "https://p1.test/x")))
        assert html.curl(read) == "curl -i https://p1.test/x"
        assert html.curl(read, "8443") == "curl -i --cacert ca.pem https://p1.test:8443/x"
        assert html.curl(EXCHANGE) == html.curl("sent: {}\n\nreceived: {}") == html.curl("") == ""
        failed = replace(made(run()), verdicts=(verdict("one/first", "AA-ONE-1", "failed", exchange=shown),))
        assert "curl -i -X POST &#39;https://p1.test:8443/x" in report_page(failed)

    def test_problems_checks_and_requirements_are_counted_in_a_sentence(self) -> None:
        def sentence(report: Report) -> str:
            [found] = re.findall(r'<p class="counts">(.*?)</p>', report_page(report), re.DOTALL)
            return " ".join(found.split())

        assert (
            sentence(made(run()))
            == "1 problem: 1 of 3 checks failed or broke, and 0 of 3 requirements passed."
        )
        assert sentence(made(run(), failing=False)).startswith("No problem: 0 of 3 checks failed")

    def test_a_keyboard_and_a_screen_reader_reach_everything(self) -> None:
        text = report_page(made(run(error=CellError(4, "1 / 0", "Error", "trace"))))
        assert (
            text.index("</header>")
            < text.index("<main>")
            < text.index('id="problems"')
            < text.index("</main>")
        )
        levels = [int(each) for each in re.findall(r"<h(\d)", text)]
        assert all(after <= before + 1 for before, after in pairwise(levels))
        boxes = re.findall(r"<pre[^>]*>", text)
        assert boxes
        assert all('tabindex="0"' in each and "aria-label=" in each for each in boxes)

    def test_a_check_in_two_areas_of_a_notebook_is_counted_once(self) -> None:
        book = run("first", "second")
        areas = verdict("one/first", "AA-ONE-1"), verdict("one/first", "AA-ONE-1", "failed")
        for cell, each in zip(book.notebook.cells[1:], areas, strict=True):
            shown = {METADATA: {"verdicts": [each.as_dict()]}}
            cell.outputs = [nbformat.v4.new_output("display_data", metadata=shown)]
        text = report_page(made(book))
        books = text[text.index('id="notebooks"') : text.index('id="matrix"')]
        assert "1 failed" in books
        assert "1 passed" not in books

    def test_a_notebook_that_raised_is_a_problem(self) -> None:
        text = report_page(made(run(error=CellError(4, "1 / <0>", "Error: <bad>", "trace")), failing=False))
        for shown in ("1 problem", "cell 4", "1 / &lt;0&gt;", "Error: &lt;bad&gt;"):
            assert shown in text

    def test_a_report_without_problems(self) -> None:
        text = report_page(made(run(), failing=False))
        assert "Nothing failed" in text
        assert 'id="problems"' not in text
        offline(text)

    def test_each_requirement_has_its_sources_checks_and_mutants(self) -> None:
        text = report_page(made(run()))
        row = text[text.index('id="AA-ONE-1"') : text.index('id="AA-ONE-2"')]
        for shown in (
            *("It answers &lt; 1 s | always.", "Section &amp; more, 1: gist 1/a/1", "must"),
            *("title &lt;b&gt;first&lt;/b&gt;", "second", "the answer waits", "failed: status"),
        ):
            assert shown in row, shown
        assert "not mutable: it is a definition" in text[text.index('id="AA-TWO-1"') :]

    def test_adjacent_parts_in_which_all_passed_are_one_line(self) -> None:
        coverage = small()
        one, two = matrix.parts(matrix.rows(coverage, [verdict("one/first", "AA-ONE-1")]), coverage)
        green = replace(one, rows=one.rows[:1])
        other = replace(green, name="BB-ONE")
        assert matrix.runs([green, green, two, green, other, one]) == [
            [green, green], [two], [green], [other], [one]
        ]  # fmt: skip

        verdicts = [verdict("one/first", "AA-ONE-1"), verdict("one/second", "AA-ONE-1 AA-ONE-2")]
        verdicts += [verdict("two/other", "AA-ONE-2"), verdict("three/all", "AA-TWO-1")]
        checks = [*coverage.checks, replace(coverage.checks[0], name="three/all", requirements=("AA-TWO-1",))]
        whole = cover(coverage.catalogue, checks, coverage.mutants)
        text = report_page(Report({}, (run(),), tuple(verdicts), whole))
        [folded] = re.findall(r'<details class="run.*?</summary>', text, re.DOTALL)
        assert "AA, 2 parts" in folded
        assert "3 passed" in folded
        offline(text)


class TestAPage:
    def test_it_has_text_code_and_outputs_and_loads_nothing_from_outside(self) -> None:
        book = run("## Part\n\nSome *text*.", "value = '<i>'")
        book.notebook.cells[-1].outputs = [
            nbformat.v4.new_output("stream", name="stdout", text="said <this>\n"),
            nbformat.v4.new_output(
                "display_data", data={"image/png": PIXEL}, metadata={"image/png": {"alt": "<a>"}}
            ),
            nbformat.v4.new_output(
                "execute_result", data={"text/html": "<table><tr><td>1</td></tr></table>"}
            ),
        ]
        text = html.notebook_page(book)
        page = offline(text)
        assert page.loads == [f"data:image/png;base64,{PIXEL}"]
        assert "report.html" in page.links
        for shown in ("<em>text</em>", "&lt;i&gt;", "said &lt;this&gt;", "<td>1</td>", 'alt="&lt;a&gt;"'):
            assert shown in text

    def test_a_cell_that_raised_is_linked_at_the_top(self) -> None:
        book = run("1 / 0", error=CellError(1, "1 / 0", "ZeroDivisionError: <x>", ""))
        trace = ["\x1b[31mZeroDivisionError\x1b[39m: <x>"]
        book.notebook.cells[-1].outputs = [
            nbformat.v4.new_output("error", ename="ZeroDivisionError", evalue="<x>", traceback=trace)
        ]
        text = html.notebook_page(book)
        page = offline(text)
        assert "#raised" in page.links
        assert "\x1b" not in text
        assert "ZeroDivisionError: &lt;x&gt;" in text

    def test_links_to_notebooks_lead_to_their_pages(self) -> None:
        links = "[a *b*](02_b.ipynb), [c](03_c.ipynb#part), [d](04_d.ipynb)"
        text = html.notebook_page(run(f"# Links\n\n{links}"), {"01_book", "02_b", "03_c"})
        assert {"02_b.html", "03_c.html"} <= set(offline(text).links)
        assert "ipynb" not in text
        assert re.search(r"</a>, d\b", text)  # a report of some requirements lacks this notebook

    def test_given_parameters_are_folded(self) -> None:
        book = run("seed = 7", "seed = 8", "seed")
        for cell, tag in zip(book.notebook.cells[1:], ("parameters", "injected-parameters"), strict=False):
            cell.metadata["tags"] = [tag]
        text = html.notebook_page(book)
        [folded] = re.findall(r"<details>.*?</details>", text, re.DOTALL)
        assert "parameters of this run" in folded
        assert '<span class="mi">8</span>' in folded

    def test_boxes_that_scroll_are_reached_and_no_header_is_empty(self) -> None:
        book = run("x", "## Table\n\n| a |\n|---|\n| b |")
        table = '<table><tr><th></th><th>a</th></tr></table><div class="lanes card"></div>'
        book.notebook.cells[1].outputs = [nbformat.v4.new_output("execute_result", data={"text/html": table})]
        text = html.notebook_page(book)
        assert '<table tabindex="0"><tr><td></td><th>a</th></tr>' in text
        assert '<div class="lanes card" tabindex="0">' in text
        assert "<table>" not in text
        assert 'hl-ipython3"><pre tabindex="0">' in text

    def test_cells_in_lua_have_the_colours_of_lua(self) -> None:
        assert '<span class="kd">local</span>' in html.notebook_page(run("%%lua a GET /b\nlocal x = 1"))

    def test_rendering_does_not_change_the_notebook(self) -> None:
        book = run("x = 1", "%%lua a\nreturn 1")
        before = nbformat.writes(book.notebook)
        html.notebook_page(book)
        assert nbformat.writes(book.notebook) == before
