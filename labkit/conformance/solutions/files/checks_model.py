"""Model check of static files and CORS: random paths, methods and origins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.conformance.old_models import Model, model_check
from labkit.conformance.solutions.files.game import Browsing

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

PATHS = (
    *("/", "//", "/start.html", "/style.css", "/%73tyle.css", "/both.txt", "//both.txt", "/both.txt/"),
    *("/more/two%20words.txt", "/more//plain", "/more/start.html", "/more/home.txt", "/home.txt", "/more/"),
    *(
        "/more",
        "/.hidden",
        "/more/drafts/draft.txt",
        "/Style.css",
        "/style.css/",
        "/deep",
        "/deep/",
        "//deep",
    ),
    *("/methods", "/greeting", "/tree", "/tree/", "/nowhere", "/site.yaml", "/Solutionfile.json", "/*"),
)
METHODS = ("GET", "GET", "HEAD", "OPTIONS", "OPTIONS", "POST", "PUT", "DELETE")
ORIGINS = (
    *("null", "*", "https://shop.two.example", "https://a/b.one.example", "https://one.example", "https://"),
    *(f"https://{'x' * count}.one.example" for count in (280, 281)),
)
PIECES = ("a", "b", "c", "ab", "abc", "x", "three", "B", "1", "-", "")
HOSTS = (
    ".one.example",
    ".three.example",
    ".four.example",
    "ba.five.example",
    "two.example",
    "localhost",
    ".One.Example",
    ".example",
)
PORTS = ("", "", "", ":8443", ":8444", ":1", ":", ":80a", ":80:80")


@dataclass(frozen=True)
class Page:
    """A command: a browser's request, with the number of the solution."""

    solution: int
    method: str
    path: str
    origin: str | None
    preflight: bool

    async def __call__(self, game: Browsing) -> None:
        await game.page(self.solution, self.method, self.path, self.origin, self.preflight)


def commands() -> SearchStrategy[Any]:
    """Return the strategy for commands: requests and their origins."""
    from hypothesis import strategies as st

    one_of = st.sampled_from
    host = st.builds(
        lambda pieces, end: "".join(pieces) + end, st.lists(one_of(PIECES), max_size=5), one_of(HOSTS)
    )
    origin = st.builds(
        lambda scheme, name, port: scheme + name + port,
        one_of(("https://", "https://", "https://", "http://", "HTTPS://")),
        host,
        one_of(PORTS),
    )
    local = st.builds("{}://localhost{}".format, one_of(("http", "https")), one_of(PORTS))
    origins = st.one_of(st.none(), origin, origin, origin, local, one_of(ORIGINS))
    return st.builds(Page, one_of((0, 0, 0, 1, 2)), one_of(METHODS), one_of(PATHS), origins, st.booleans())


RULES = (
    "SOL-ASSET-1 SOL-ASSET-2 SOL-ASSET-3 SOL-ASSET-4 SOL-CORS-1 SOL-CORS-2 SOL-CORS-3 SOL-CORS-4 SOL-ROUTE-3 "
    "SOL-ROUTE-4"
)

files = model_check(
    "files/model",
    "static files, their methods, and what pages of other origins may do, as a model has them",
    Model(tuple(RULES.split()), commands, Browsing),
)
