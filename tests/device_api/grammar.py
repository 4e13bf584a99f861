"""Grammar of requests to the device API: valid ones, and the faults that each may have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.device_api.rig import PASSWORD, pair

KIB = 1024


@dataclass(frozen=True)
class Request:
    """A request; `credential` names the credential of device `d` that it has (see test_fuzz).

    framing: length, chunked, or cut: the body is shorter than announced.
    """

    product: str
    method: bytes
    path: bytes
    query: bytes = b""
    type: bytes | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes | None = None
    credential: str = "valid"
    odd: tuple[tuple[bytes, bytes], ...] = ()
    framing: str = "length"
    version: bytes = b"1.1"

    def __repr__(self) -> str:
        said = self.encode(b"...", [])
        return f"{self.product}, {self.credential}: {said[:300]!r} of {len(said)} bytes"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # for hypothesis
        printer.text(repr(self))

    def encode(self, host: bytes, credentials: list[tuple[bytes, bytes]]) -> bytes:
        fields = [*credentials, *self.headers, *self.odd]
        if self.type is not None:
            fields.append((b"Content-Type", self.type))
        if not any(name == b"Host" for name, _ in fields):
            fields.insert(0, (b"Host", host))
        body = b"" if self.body is None else self.body
        if self.framing == "chunked":
            fields.append((b"Transfer-Encoding", b"chunked"))
            pieces = [body[:10], body[10:]]
            body = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in pieces if each) + b"0\r\n\r\n"
        elif self.body is not None:
            fields.append((b"Content-Length", b"%d" % (len(body) + (self.framing == "cut"))))
        target = self.path + b"?" + self.query if self.query else self.path
        lines = [b"%b %b HTTP/%b" % (self.method, target, self.version)]
        return b"\r\n".join([*lines, *(b"%b: %b" % field for field in fields), b"", body])


def some(*values: bytes) -> st.SearchStrategy[bytes]:
    return st.sampled_from(values)


# --- forms --------------------------------------------------------------------------------------------------

ALIASES = some(b"text", b"number", b"integer", b"flag", b"level")
NAMES = ALIASES | some(
    *(b"id", b"sn", b"vendor", b"model", b"password", b"info", b"alias", b"unknown", b"Text"),
    *(b"", b"te%78t", b"%", b"%zz", b"%ff", b"\xff", b"a+b"),
)
VALUES = some(
    *(b"x", b"1", b"21.5", b"true", b"", b"d", b"new", b"fw", b"token", b"password", b"certificate"),
    *(b"%C3%BC", b"\xc3\xbc", b"a+b%26", b"9" * 400, b"nan", b"1e999", b"%", b"%4", b"%ff", b"\xff", b"%00"),
    PASSWORD.encode().replace(b" ", b"+"),
) | st.binary(max_size=6)
PAIR = st.tuples(NAMES, st.none() | VALUES).map(lambda p: p[0] if p[1] is None else p[0] + b"=" + p[1])
FORM = st.lists(PAIR, max_size=4).map(b"&".join)
GOOD = st.lists(st.tuples(ALIASES, some(b"1", b"0", b"true")).map(b"=".join), min_size=1, max_size=3).map(
    b"&".join
)

TIMES = some(b"1", b"2", b"2.5", b"3", b"1767225600", b"-5", b"-0", b"5e3", b"99999999999", b"1.", b"x", b"")
POINTS = st.lists(st.tuples(TIMES, VALUES | some(b"1")).map(b"=".join), max_size=3)
GROUP = st.tuples(NAMES, POINTS).map(lambda g: b"&".join([b"alias=" + g[0], *g[1]]))
RECORD = st.lists(GROUP, max_size=3).map(b"&".join)
ACTIVATION = st.tuples(some(b"id", b"sn", b"vendor=token&model=token&sn"), VALUES).map(b"=".join) | st.just(
    b"id=n&password=" + b"x" * 20
)
PEM = some(
    pair("d").certificate_pem, pair("e").certificate_pem, pair("d").key_pem, b"-----BEGIN CERTIFICATE-----"
)
LARGE = some(b"text=" + b"x" * (64 * KIB - 5), b"text=" + b"x" * (64 * KIB - 4))
BODY = st.none() | GOOD | FORM | RECORD | ACTIVATION | PEM | st.binary(max_size=30) | LARGE | LARGE

# --- targets ------------------------------------------------------------------------------------------------

# The HTTP parser itself refuses bytes beyond ASCII, so that few requests need them.
SPOKEN = FORM.map(lambda form: form if form.isascii() or form.endswith(b"\xff") else b"text&number")
QUERY = (
    ALIASES
    | st.lists(ALIASES, min_size=1, max_size=3).map(b"&".join)
    | SPOKEN
    | some(b"id=fw", b"id=fw", b"id=fw&info=true", b"id=none", b"&&=")
)
PATHS = {
    b"/provision/activate": b"POST",
    b"/provision/download": b"GET",
    b"/onep:v1/stack/alias": b"GET",
    b"/onep:v1/stack/%61lias": b"POST",
    b"/onep:v1/stack/record": b"POST",
    b"/timestamp": b"GET",
}
ODD_PATHS = some(
    *(
        b"/",
        b"*",
        b"//",
        b"/timestamp/",
        b"/onep:v2/stack/alias",
        b"/%",
        b"/%ff",
        b"/\xff",
        b"/../timestamp",
        b"/a b",
    ),
    *(
        b"http://x/timestamp",
        b"timestamp",
        b"/timestamp#x",
        b"/" + b"x" * 9000,
        b"token.m2.lab.localhost:443",
    ),
)
METHODS = some(
    b"GET", b"POST", b"PUT", b"DELETE", b"HEAD", b"OPTIONS", b"PATCH", b"CONNECT", b"TRACE", b"get", b"BREW"
)

# --- headers ------------------------------------------------------------------------------------------------

TYPES = some(
    b"application/x-www-form-urlencoded; charset=utf-8",
    b"application/x-www-form-urlencoded",
    b"application/x-pem-file; charset=utf-8",
    b"application/x-www-form-urlencoded; charset=latin-1",
    *(b"application/json", b"", b";", b"\xff"),
)
RANGES = some(
    b"bytes=0-4",
    b"bytes=-3",
    b"bytes=7-",
    b"bytes=-",
    b"bytes=99-",
    b"bytes=5-2",
    b"bytes=0-1,3-4",
    b"x",
    b"",
)
TIMEOUTS = some(b"0", b"0", b"0", b"1", b"1", b"300000", b"300000", b"300001", b"-1", b"x", b"", b"9" * 5000)
SINCES = some(
    b"0",
    b"1767225600",
    b"Thu, 01 Jan 2026 00:00:00 GMT",
    b"Thu Jan  1 00:00:00 2026",
    b"x",
    b"",
    b"-1",
    b"\xff",
)
JUNK = st.sampled_from([b"", b"x", b"\xff", b"\t", b"\x00", b"=;,"]) | st.from_regex(
    rb"[!-~]{0,8}", fullmatch=True
)
HEADER = st.one_of(
    st.tuples(st.just(b"Range"), RANGES | JUNK),
    st.tuples(st.just(b"Request-Timeout"), TIMEOUTS),
    st.tuples(st.just(b"If-Modified-Since"), SINCES | JUNK),
    st.tuples(st.just(b"Accept"), some(b"*/*", b"application/json") | JUNK),
    st.tuples(st.just(b"Expect"), some(b"100-continue", b"x")),
    st.tuples(st.just(b"Connection"), some(b"close", b"keep-alive", b"upgrade")),
    st.tuples(st.just(b"Upgrade"), some(b"websocket", b"h2c")),
    st.tuples(st.just(b"Content-Encoding"), some(b"gzip", b"br", b"x")),
    st.tuples(st.just(b"Host"), some(b"", b"elsewhere.localhost", b"a b")),
    st.tuples(some(b"X-Test", b"Cookie", b"", b"X Y", b"X\xff"), JUNK | some(b"x" * 9000)),
)
CREDENTIALS = st.sampled_from(["none", "wrong", "other type", "garbage", "twice"])

# --- requests -----------------------------------------------------------------------------------------------

TIMES_APART = st.lists(some(b"1", b"2", b"3.5", b"-5"), min_size=1, max_size=3, unique=True)
RECORDS = st.tuples(ALIASES, TIMES_APART).map(
    lambda r: b"&".join([b"alias=" + r[0], *(t + b"=1" for t in r[1])])
)
WAIT = st.lists(st.tuples(st.just(b"Request-Timeout"), some(b"0", b"1", b"300000")), max_size=1)
RANGE = st.lists(st.tuples(st.just(b"Range"), some(b"bytes=0-4", b"bytes=-3")), max_size=1)
FIRST = {"token": b"id=d", "password": b"id=d&password=" + b"x" * 20}
FORM_TYPE = b"application/x-www-form-urlencoded; charset=utf-8"
PEM_TYPE = b"application/x-pem-file; charset=utf-8"


@st.composite
def right(draw: st.DrawFn) -> Request:
    """Draw a request without a fault."""
    product = draw(st.sampled_from(["token", "token", "password", "certificate"]))
    path = draw(st.sampled_from(sorted(PATHS)))
    request = Request(product, PATHS[path], path)
    if path.endswith(b"download"):
        query = draw(some(b"", b"id=fw", b"id=fw&info=true"))
        return replace(request, query=query, headers=tuple(draw(RANGE)))
    if path.endswith(b"stack/alias"):
        query = draw(st.lists(ALIASES, min_size=1, max_size=3).map(b"&".join))
        return replace(request, query=query, headers=() if b"&" in query else tuple(draw(WAIT)))
    if request.method == b"GET":
        return request
    if path.endswith(b"activate"):
        body = FIRST.get(product) or draw(PEM)
        return replace(request, body=body, type=PEM_TYPE if product == "certificate" else FORM_TYPE)
    if path.endswith(b"record"):
        return replace(request, body=draw(RECORDS), type=FORM_TYPE)
    return replace(request, query=draw(st.just(b"") | ALIASES), body=draw(GOOD), type=FORM_TYPE)


FAULTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "method": METHODS.map(lambda method: {"method": method}),
    "path": ODD_PATHS.map(lambda path: {"path": path, "query": b""}),
    "query": QUERY.map(lambda query: {"query": query}),
    "type": TYPES.map(lambda declared: {"type": declared}),
    "header": HEADER.map(lambda header: {"odd": (header,)}),
    "credential": CREDENTIALS.map(lambda credential: {"credential": credential}),
    "body": BODY.map(lambda body: {"body": body}),
    "large": LARGE.map(lambda body: {"body": body}),
    "chunked": st.just({"framing": "chunked"}),
    "cut": st.just({"framing": "cut"}),
    "version": st.just({"version": b"1.0"}),
}


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Draw a request with up to three faults."""
    request = draw(right())
    for fault in draw(st.lists(st.sampled_from(sorted(FAULTS)), max_size=3, unique=True)):
        request = replace(request, **draw(FAULTS[fault]))
    return request
