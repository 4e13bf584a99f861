"""The book: it builds without a warning, needs nothing from elsewhere, and its search works without a server."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlencode, urlsplit

import click
import pytest

import labkit
from labkit.dev.book import NOTEBOOKS
from labkit.reference import api
from tests.chromium import Tab, barriers, browser, needs_axe, needs_chromium
from tests.reference.test_commands import COMMANDS

pytestmark = [
    pytest.mark.sampled("the book"),
    pytest.mark.xdist_group("chromium"),  # one worker builds the book
    pytest.mark.timeout(600),  # that takes 40 s of one core, and minutes on a busy machine
]
SOURCED = (Path(labkit.__file__).parent, NOTEBOOKS)
NO_SOURCES = {".pyc", ".so"}
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
# The titles and names of the pages that the search shows, as soon as it has ended.
FOUND = """new Promise(done => { const look = () => {
    const links = [...document.querySelectorAll('#search-results ul.search li > a')]
    const found = links.map(each => [each.textContent, each.getAttribute('href').split('.html')[0]])
    document.querySelector('#search-results h2')?.textContent === 'Search Results' ? done(found) : setTimeout(look, 20)
}; look() })"""

QUESTIONS = """
lock a device; how do I lock a device?; device lock: lock-a-device
why was a request refused; see why my request is refused; request 401: see-why-a-request-was-refused
slow answer of a provider; give a provider a slow answer; slow provider: slow-answer-of-a-provider
run a fleet on two machines; two machines; fleet machines: run-a-fleet-on-two-machines
read pushes; read a push; pushes: read-pushes
keep data over restarts; keep my data after a restart; data file: keep-data-over-restarts
use my own CA; my own CA; own CA: use-my-own-ca
add a check; write my own check; new check: write-a-check-of-your-own
test my script; how do I test a script; test a Lua script: test-my-script
move the clock from another program; control from another language; clock HTTP: drive-a-lab-from-another-program
install; how do I install it; install on windows: tutorials/index
docker; run in docker; docker compose: explanation/what-labkit-does-not-do
mqtt; does it speak mqtt; coap: explanation/what-labkit-does-not-do
export csv; csv export of a fleet; csv: query-the-data-with-sql
error 401; 401; unauthorized: see-why-a-request-was-refused
jwt; json web token; tokens jwt: notebooks/09_jwt
lua syntax; lua; lua version: tutorials/lua-solution
fleet 1000 devices; run 10000 devices; load test: run-a-fleet-at-the-terminal
"""  # of a newcomer, and the page that answers, of how-to unless it names its folder


@pytest.fixture(scope="session")
def book(pytestconfig: pytest.Config) -> Path:
    """Folder of the HTML of the book, built as `make book` does, anew only if its sources differ."""
    output = pytestconfig.cache.mkdir("book")
    sources = 0
    for path in sorted(
        each for folder in SOURCED for each in folder.rglob("*") if each.suffix not in NO_SOURCES
    ):
        sources = zlib.crc32(path.read_bytes(), sources) if path.is_file() else sources
    if pytestconfig.cache.get("book", None) != sources:
        pytestconfig.cache.set(
            "book", None
        )  # what fails is built as a whole next time, with all its warnings
        shutil.rmtree(output)
        built = subprocess.run(
            [sys.executable, "-m", "labkit.dev.book", "--output", output],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (built.returncode, built.stderr) == (0, "")
        assert built.stdout == f"the book: {output / 'html' / 'index.html'}\n"
        pytestconfig.cache.set("book", sources)
    return output / "html"


class Links(HTMLParser):
    """The ids of a page, the files that it loads and the pages that it links to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        if tag in LOADED and (url := given.get(LOADED[tag], "")) not in ("", "#", None):
            self.loaded.append(url)
        if tag == "a" and (url := given.get("href")):
            self.links.append(url)


@pytest.fixture(scope="session")
def pages(book: Path) -> dict[Path, Links]:
    return {path.resolve(): Links(path) for path in book.rglob("*.html")}


def test_each_notebook_is_in_the_book_with_its_outputs(book: Path) -> None:
    for path in NOTEBOOKS.glob("*.ipynb"):
        page = (book / "notebooks" / f"{path.stem}.html").read_text()
        assert "cell_output" in page, path
        assert not re.search(r'alt="[^"]*\.png"', page), path
    assert '<span class="kd">local</span>' in (book / "notebooks" / "09_jwt.html").read_text()  # of Lua


def test_nothing_is_loaded_from_elsewhere(book: Path, pages: dict[Path, Links]) -> None:
    loaded = {
        (path, url) for path, page in pages.items() for url in page.loaded if not url.startswith("data:")
    }
    assert len(loaded) > len(pages)
    assert [each for each in loaded if not (each[0].parent / urlsplit(each[1]).path).is_file()] == []
    for style in book.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?(?:https?:)?//", style.read_text()), style


def test_each_link_within_the_book_leads_somewhere(pages: dict[Path, Links]) -> None:
    broken = [
        (path.name, url)
        for path, page in pages.items()
        for url in page.links
        if not urlsplit(url).scheme and not _leads_somewhere(path, url, pages)
    ]
    assert broken == []


def _leads_somewhere(path: Path, url: str, pages: dict[Path, Links]) -> bool:
    parts = urlsplit(url)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target not in pages:
        return target.is_file()
    return not parts.fragment or unquote(parts.fragment) in pages[target].ids


@needs_chromium
@needs_axe
async def test_nothing_keeps_people_from_using_its_pages(book: Path, chromium_port: int) -> None:
    async with browser(chromium_port) as tab:
        for name in ("index", "notebooks/12_faults"):
            assert await barriers(tab, (book / f"{name}.html").as_uri()) == [], name


@needs_chromium
async def test_the_search_works_without_a_server(book: Path, chromium_port: int) -> None:
    async with browser(chromium_port) as tab:
        assert ["A firmware rollout", "notebooks/23_firmware_rollout"] in await search(
            tab, book, "firmware rollout"
        )
        assert await search(tab, book, "nosuchword") == []
        assert await tab.log_entries() == []


async def search(tab: Tab, book: Path, words: str) -> list[list[str]]:
    """Return the title and the name of each page that the book's search finds, the first one first."""
    await tab.goto(f"{(book / 'search.html').as_uri()}?{urlencode({'q': words})}")
    found = await tab.evaluate(FOUND)
    assert isinstance(found, list)
    return found


@needs_chromium
@pytest.mark.parametrize("line", QUESTIONS.strip().splitlines(), ids=lambda line: line.split(": ")[1])
async def test_the_search_answers_a_newcomers_question(book: Path, chromium_port: int, line: str) -> None:
    """The first words find the page in the first place, other words among the first three."""
    questions, page = line.split(": ")
    page = page if "/" in page else f"how-to/{page}"
    async with browser(chromium_port) as tab:
        for number, words in enumerate(questions.split("; ")):
            found = [name for _, name in await search(tab, book, words)]
            assert page in found[: 3 if number else 1], f"{words}: {found[:5]}"


@needs_chromium
@pytest.mark.parametrize("name", ["Lab.connect", "labkit.Lab", "wait_for_poll"])
async def test_the_search_finds_a_full_name_first(book: Path, chromium_port: int, name: str) -> None:
    async with browser(chromium_port) as tab:
        (_, page), *_ = await search(tab, book, name)
        assert page.startswith("reference/python/"), page


def _inventory(book: Path) -> Iterator[str]:
    """Yield the names of Python objects that the book describes."""
    data = (book / "objects.inv").read_bytes()
    for line in zlib.decompress(data.split(b"\n", 4)[4]).decode().splitlines():
        name, kind, *_ = line.split()
        if kind.startswith("py:"):
            yield name


def test_each_public_name_is_in_the_book(book: Path) -> None:
    """Also each method and property of a public class."""
    described = {*_inventory(book)}
    names = {f"labkit.{name}" for name in labkit.__all__}
    for name, kind, function in api.public():
        home = f"labkit.{name.rpartition('.')[0]}".strip(".")
        if kind is not None and kind in api.PARTS.values():
            home = f"{kind.__module__}.{kind.__name__}"
        own = api.CALL if function.__name__ == api.CALL else name.rpartition(".")[2]
        names.add(f"{home}.{own}")
    assert len(names) > 200
    assert sorted(names - described) == []


def test_each_command_is_in_the_book_with_its_options(book: Path) -> None:
    page = book / "reference" / "commands.html"
    assert "With --json, each has" in " ".join(page.read_text().split())
    ids = Links(page).ids
    for name, command in COMMANDS.items():
        slug = name.replace(" ", "-")
        assert slug in ids
        for each in command.params:
            if isinstance(each, click.Option) and not each.hidden and "--help" not in each.opts:
                [first] = [option for option in each.opts if option.startswith("--")]
                assert f"cmdoption-{slug}{first[1:]}" in ids, each.opts
