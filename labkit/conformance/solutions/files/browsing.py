"""Model game of static files and CORS: browser requests to three solutions, from pages of many origins."""

from __future__ import annotations

from labkit.conformance.models.commands import Commands, one_of, several, together
from labkit.conformance.models.game import Game
from labkit.conformance.probe import PROBE
from labkit.conformance.solutions.files.model import Pages, cors_headers, expected_response, is_allowed

GET = frozenset({"GET"})
TEXT, PAGE = "text/plain; charset=utf-8", "text/html; charset=utf-8"
START = ("<p>start é</p>\n".encode(), PAGE)
SITE = Pages(  # as in fixtures/solutions/site
    {"/both.txt": GET, "/deep": GET, "/methods": frozenset({"GET", "OPTIONS"})},
    {
        "/": START,
        "/start.html": START,
        "/style.css": (b"body { color: red }\n", "text/css; charset=utf-8"),
        "/both.txt": (b"an asset\n", TEXT),
        "/more/two words.txt": ("grüße\n".encode(), TEXT),
        "/more/start.html": (b"<p>more</p>\n", PAGE),
        "/more/plain": (b"\x00\x01\xfe\xff\r\n", "application/octet-stream"),
    },
    (
        "https://*.one.example",
        "http://localhost:*",
        "https://Two.example",
        "https://a*b*c.three.example",
        "https://x*three*c.three.example",
        "https://a*b*b*c.four.example",
        "https://ab*ba.five.example",
        "https://*:8443",
    ),
    ("GET", "POST"),
    ("Content-Type", "X-Note"),
    credentials=False,
    exposed=("X-Count", "X-More"),
)
HOME = (b"home\n", TEXT)
OLDER = Pages(
    {"/greeting": GET},
    {"/": HOME, "/home.txt": HOME, "/more/home.txt": (b"more\n", TEXT)},
    origins=None,
)
TREE = Pages({"/tree": frozenset({"GET", "PUT"})})
SOLUTIONS = (("site", SITE), ("older", OLDER), (PROBE, TREE))

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
HOST = together(several(PIECES, 5), HOSTS).map(lambda each: "".join(each[0]) + each[1])
ORIGIN = together(("https://", "https://", "https://", "http://", "HTTPS://"), HOST, PORTS).map("".join)
LOCAL = together(("http", "https"), PORTS).map(lambda each: "{}://localhost{}".format(*each))

command = Commands()


class Browsing(Game):
    """One game of browser requests."""

    default = "SOL-ASSET-1"

    @command(
        index=(0, 0, 0, 1, 2),
        method=METHODS,
        path=PATHS,
        origin=one_of([None], ORIGIN, LOCAL, ORIGINS),
        preflight=bool,
    )
    async def page(self, index: int, method: str, path: str, origin: str | None, preflight: bool) -> None:
        """Send a browser's request. preflight: as a CORS preflight."""
        solution, pages = SOLUTIONS[index]
        headers = {} if origin is None else {"Origin": origin}
        if preflight:
            headers["Access-Control-Request-Method"] = "PUT"
        seen = await self._target.pool(solution).request(method, path, headers=headers)
        answer = seen.answer
        wanted = expected_response(pages, method, path)
        holds = self._rules.holds
        if holds(wanted.rule, "status", answer.status_code, wanted.status, seen):
            if wanted.allowed:
                named = {each.strip() for each in answer.headers.get("allow", "").split(",")}
                holds(wanted.rule, "Allow", sorted(named), sorted(wanted.allowed), seen)
            if wanted.asset is not None:
                content, kind = wanted.asset
                holds("SOL-ASSET-2", "content type", answer.headers.get("content-type"), kind, seen)
                length = answer.headers.get("content-length")
                holds(wanted.rule, "Content-Length", length, str(len(content)), seen)
                holds(wanted.rule, "body", answer.content, b"" if method == "HEAD" else content, seen)
        rule, expected = cors_headers(pages, method, origin, preflight)
        if origin is not None and pages is not SITE and is_allowed(pages, origin):
            rule = "SOL-CORS-4"
        found = {
            name: value
            for name, value in answer.headers.items()
            if name == "vary" or name.startswith("access-control-")
        }
        holds(rule, "headers for pages of other origins", found, expected, seen)
