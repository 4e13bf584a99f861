"""Longest inputs of unauthenticated clients to each kind of host: no processing is quadratic.

Measured is the CPU time of the longest turn of the event loop, during which no other request is answered; the
clients' own share in it only ever grows with the size.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from labkit.platform import Platform
from labkit.settings import ContentFile, LabSettings, ProductSettings, Resource, SolutionSettings
from tests.guard import PATIENCE

PRODUCT, SOLUTION, PROVIDER = "t.m2.lab.localhost", "acme.apps.lab.localhost", "google.social.lab.localhost"
LINE, HEAD, BODY, LARGE = 8_000, 60_000, 64 * 1024, 1024 * 1024
MAX_TURN = 0.4  # seconds of CPU in one turn: the longest delay of others, for any input
NEGLIGIBLE = 0.05  # a cost that is too small to be compared
GROWTH = 2.8  # between 2 for linear work and 4 for quadratic work
FEW, MOST = 2, 12  # number of measurements of both sizes before a larger cost is judged
FORM, JSON = "application/x-www-form-urlencoded", "application/json"

Make = Callable[[int], str]


@dataclass
class Sent:
    """A kind of request: its target, the part that grows, and the maximal length of that part."""

    host: str
    path: str
    longest: int
    make: Make
    into: str = "body"  # or "query", "path", or the name of a header
    type: str = FORM

    def request(self, size: int, token: str) -> bytes:
        text = self.make(size)
        path, lines, body = self.path, [f"X-Platform-CIK: {token}"], ""
        if self.into == "body":
            body = text
            lines += [f"Content-Type: {self.type}", f"Content-Length: {len(body)}"]
        elif self.into == "query":
            path += f"?{text}"
        elif self.into == "path":
            path = text
        elif self.into == "lines":
            lines += text.splitlines()
        else:
            lines = [line for line in lines if not line.startswith(self.into)]
            lines.append(f"{self.into}: {text}")
        method = "POST" if self.into == "body" else "GET"
        head = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", "Connection: close", *lines, "", ""]
        return ("\r\n".join(head) + body).encode()


def fill(unit: str) -> Make:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def numbered(form: str) -> Make:
    """Return pairs or items that all differ."""
    return lambda size: "".join(form.format(n) for n in range(size // len(form.format(size))))


TEXTS: dict[str, Make] = {
    "spaces": fill(" "),
    "digits": fill("1"),
    "ampersands": fill("&"),
    "pairs of one name": fill("text=b&"),
    "pairs": numbered("{0:x}=1&"),
    "percents": fill("%25"),
    "letters in percents": fill("%C3%A4"),
    "letters and marks": lambda size: "text=a" + "%CC%81" * (size // 6),
    "one value": lambda size: "text=" + "x" * (size - 5),
}
HEADERS: dict[str, tuple[str, Make]] = {
    "range of spaces": ("Range", lambda size: "bytes=1" + " " * size + "x"),
    "range of digits": ("Range", lambda size: "bytes=" + "1" * size + "-"),
    "date of commas": ("If-Modified-Since", fill(",")),
    "date of words": ("If-Modified-Since", fill("a ")),
    "date of brackets": ("If-Modified-Since", fill("(")),
    "timeout": ("Request-Timeout", fill("1")),
    "type": ("Content-Type", lambda size: 'a/b; x="' + ";" * size),
    "charset": ("Content-Type", lambda size: "a/b;" + " " * size + "x"),
    "token": ("X-Platform-CIK", fill("a")),
    "basic": ("Authorization", lambda size: "Basic " + "A" * size),
    "oauth": ("Authorization", lambda size: "OAuth " + 'a="b",' * (size // 6)),
    "cookie of backslashes": ("Cookie", lambda size: '__Host-browser="' + "\\" * size + '"'),
    "cookie of quotes": ("Cookie", fill('a="')),
    "cookie of pairs": ("Cookie", fill("a=b; ")),
    "origin of dots": ("Origin", lambda size: "http://" + "a." * (size // 2)),
    "origin of digits": ("Origin", lambda size: "http://localhost:" + "1" * size + "x"),
    "many": ("lines", lambda size: "\n".join(f"X-{n}: {'y' * (size // 120)}" for n in range(115))),
    "many cookies": ("lines", lambda size: "\n".join([f"Cookie: {'y' * (size // 120)}"] * 115)),
}
BODIES: dict[str, Make] = {
    "lists in lists": fill("["),
    "tables in tables": fill('{"a":'),
    "a long number": fill("1"),
    "a long fraction": lambda size: "[0." + "1" * (size - 4) + "]",
    "numbers": lambda size: "[" + "1," * (size // 2 - 2) + "1]",
    "escapes": lambda size: '"' + "\\u0041" * (size // 6) + '"',
    "halves of pairs": lambda size: '"' + "\\ud800" * (size // 6) + '"',
    "tables": lambda size: "[" + "{}," * (size // 3 - 2) + "1]",
    "names": lambda size: "{" + "".join(f'"{n}":1,' for n in range(size // 11)) + '"x":1}',
}


def kinds() -> dict[str, Sent]:
    found: dict[str, Sent] = {
        "product, recorded points": Sent(
            PRODUCT, "/onep:v1/stack/record", BODY, lambda size: "alias=text&" + numbered("{0}=1&")(size - 12)
        ),
        "product, path": Sent(PRODUCT, "/", LINE, lambda size: "/" + "%25" * (size // 3), "path"),
        "solution, path of slashes": Sent(SOLUTION, "/", LINE, fill("/a"), "path"),
        "solution, path of doubled slashes": Sent(SOLUTION, "/", LINE, fill("/"), "path"),
        "solution, text": Sent(SOLUTION, "/text", LARGE, fill("x"), type="text/plain"),
        "provider, path": Sent(PROVIDER, "/", LINE, lambda size: "/" + "%25" * (size // 3), "path"),
    }
    targets = ((PRODUCT, "product", "/onep:v1/stack/alias", BODY), (SOLUTION, "solution", "/form", LARGE),
              (PROVIDER, "provider", "/o/oauth2/auth", BODY))  # fmt: skip
    for host, name, path, largest in targets:
        for text, make in TEXTS.items():
            found[f"{name}, body of {text}"] = Sent(host, path, largest, make)
            if text != "spaces":
                found[f"{name}, query of {text}"] = Sent(host, path, LINE, make, "query")
        for text, (header, make) in HEADERS.items():
            there = "/provision/download?id=a" if header == "Range" and host == PRODUCT else path
            size = HEAD if header == "lines" else LINE - 20
            found[f"{name}, {text}"] = Sent(host, there, size, make, header)
    for text, make in BODIES.items():
        found[f"solution, JSON with {text}"] = Sent(SOLUTION, "/json", LARGE, make, type=JSON)
        found[f"script, JSON with {text}"] = Sent(SOLUTION, "/lua", LARGE, make, type=JSON)
    return found


KINDS = kinds()


class Lab:
    """A platform with one of each kind of host, and clients that write HTTP by hand."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.context = ssl.create_default_context(cadata=platform.context.address.ca_pem)
        self.token = ""

    async def ask(self, host: str, data: bytes) -> bytes:
        """Return all bytes of the answer."""
        port = self.platform.context.address.https_port
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=self.context, server_hostname=host
            )
            writer.write(data)
            answer = await reader.read()
            writer.close()
        return answer

    async def cost(self, kind: Sent, size: int, longest: Callable[[], float]) -> float:
        """Return the CPU seconds of the longest turn of the loop during such a request and another one beside it."""
        data = kind.request(size, self.token)
        longest()
        answer, other = await asyncio.gather(self.ask(kind.host, data), self.ask(PRODUCT, TIMESTAMP))
        assert answer.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")), answer
        assert not answer.startswith(b"HTTP/1.1 500"), answer
        assert other.startswith(b"HTTP/1.1 200")
        return longest()


TIMESTAMP = f"GET /timestamp HTTP/1.1\r\nHost: {PRODUCT}\r\nConnection: close\r\n\r\n".encode()


@pytest.fixture
def longest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], float]]:
    """A function that returns the CPU time of the longest turn of the event loop since its last call."""
    found = 0.0
    run: Any = asyncio.Handle._run

    def timed(handle: Any) -> None:
        nonlocal found
        begun = time.thread_time()
        run(handle)
        found = max(found, time.thread_time() - begun)

    def take() -> float:
        nonlocal found
        taken, found = found, 0.0
        return taken

    monkeypatch.setattr(asyncio.Handle, "_run", timed)
    gc.disable()  # the collector makes turns long
    yield take
    gc.enable()


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    (tmp_path / "a").write_bytes(bytes(100))
    cors = {"origin": ["http://*.*.*.example", "http://localhost:*"]}
    settings = LabSettings(
        https_port=0,
        products=(
            ProductSettings(
                id="t",
                auth="token",
                resources={"text": Resource(format="string"), "number": Resource(format="number")},
                content=(ContentFile(file=tmp_path / "a"),),
            ),
        ),
        solutions=(SolutionSettings(id="acme", services={"webservice": {"cors": cors}}),),
    )
    async with Platform(settings) as platform:
        solution = platform.solutions.get("acme")
        for path, type in (("/form", FORM), ("/json", JSON), ("/text", "text/plain")):
            for method in ("GET", "POST"):
                solution.route(method, path, lambda request: "done", content_type=type)
        solution.route("POST", "/lua", lua="return 'done'")
        made = Lab(platform)
        form = "id=a&vendor=t&model=t"
        answer = await made.ask(
            PRODUCT,
            f"POST /provision/activate HTTP/1.1\r\nHost: {PRODUCT}\r\nConnection: close\r\nContent-Type: {FORM}\r\n"
            f"Content-Length: {len(form)}\r\n\r\n{form}".encode(),
        )
        made.token = answer.rpartition(b"\r\n")[2].decode()
        assert len(made.token) == 40, answer
        yield made


SIZE = 1_000_000  # size of inputs without a limit of their own


async def growth(cost: Callable[[int], Awaitable[float]], size: int) -> str:
    """Return the problem of a cost's growth from half of a size to the whole, or None.

    Load of the machine makes a cost larger, never smaller: of several measurements, in alternation, the least counts.
    """
    once = twice = float("inf")
    for tried in range(1, MOST + 1):
        twice = min(twice, await cost(size))
        if twice <= NEGLIGIBLE:
            return ""
        once = min(once, await cost(size // 2))
        if tried >= FEW and twice <= min(MAX_TURN, GROWTH * once):
            return ""
    return f"{once:.3f} s, then {twice:.3f} s"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("host", [PRODUCT, SOLUTION, PROVIDER])
async def test_twice_the_size_takes_at_most_about_twice_as_long(
    lab: Lab, longest: Callable[[], float], host: str
) -> None:
    found = {}
    for name, kind in KINDS.items():
        if kind.host == host:
            await lab.cost(kind, 100, longest)  # objects created at first use
            found[name] = await growth(lambda size, kind=kind: lab.cost(kind, size, longest), kind.longest)  # type: ignore[misc]
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("cost", "wrong"),
    [
        (lambda size: MAX_TURN * 0.9 * size / SIZE, False),
        (lambda size: NEGLIGIBLE * 1.1 * size / SIZE, False),
        (lambda size: MAX_TURN * 1.1 * size / SIZE, True),
        (lambda size: MAX_TURN * 0.5 * (size / SIZE) ** 2, True),
        (lambda size: NEGLIGIBLE * 0.9 * (size / SIZE) ** 2, False),
    ],
)
async def test_a_noisy_cost_is_judged_by_its_growth(cost: Callable[[int], float], wrong: bool) -> None:
    noise = itertools.cycle((1.7, 1.3, 1.0, 1.9, 1.0, 1.5, 1.2))  # another one each time, for either size

    async def measured(size: int) -> float:
        return cost(size) * next(noise)

    assert bool(await growth(measured, SIZE)) == wrong


CALLS = 50  # calls of functions, Python's and others', per recorded point: from the form to the event


@pytest.mark.parametrize("format", ["text", "number"])
async def test_a_record_of_many_points_makes_few_calls_per_point(lab: Lab, format: str) -> None:
    """Calls can be counted exactly, and they are what blocks the loop, while times are unreliable."""
    points = 2000
    kind = Sent(PRODUCT, "/onep:v1/stack/record", BODY, lambda size: f"alias={format}" + "".join(
        f"&{n}=1" for n in range(1, size)
    ))  # fmt: skip
    data, few = kind.request(points + 2, lab.token), kind.request(2, lab.token)
    counts = []
    for each in (few, data, few, data):  # the first ones also create what is created once
        counts.append(0)

        def count(_frame: object, event: str, _argument: object) -> None:
            counts[-1] += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            answer = await lab.ask(PRODUCT, each)
        finally:
            sys.setprofile(None)
        assert answer.startswith(b"HTTP/1.1 204"), answer
    assert (counts[3] - counts[2]) / points < CALLS
