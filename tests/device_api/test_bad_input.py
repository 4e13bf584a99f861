"""Invalid requests: refused with their status and a short reason in plain text, without any change of state."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from tests.cases import case
from tests.device_api.rig import (
    ACTIVATE,
    ALIAS,
    DOWNLOAD,
    PASSWORD,
    RECORD,
    Client,
    DeviceRig,
    Headers,
    check_refusal,
)

POLL = f"{ALIAS}?text"
KIB = 1024
WRONG_TYPE = ("Content-Type", "application/json")


@dataclass(frozen=True)
class Bad:
    """A request with one fault. It has the credentials of device `d` unless `anonymous`."""

    about: str
    status: int
    method: str
    path: str
    body: bytes | str | None = None
    headers: Headers = ()
    product: str = "token"
    form: bool = True
    anonymous: bool = False
    reason: str = ""  # the expected reason, or part of it


BAD = [
    # malformed forms
    Bad("write: no pair", 400, "POST", ALIAS, "", reason="at least one <alias>=<value>"),
    Bad("write: no body", 400, "POST", ALIAS, reason="at least one <alias>=<value>"),
    Bad("write: only separators", 400, "POST", ALIAS, "&&&"),
    Bad("write: a pair without a name", 400, "POST", ALIAS, "text=x&=y", reason="body: a pair has no name"),
    Bad("hybrid: no pair", 400, "POST", POLL, ""),
    Bad("record: no pair", 400, "POST", RECORD, "", reason="alias=<alias> first"),
    Bad("record: a timestamp first", 400, "POST", RECORD, "5=x&alias=text"),
    Bad("record: an alias without points", 400, "POST", RECORD, "alias=text", reason="after each alias"),
    Bad(
        "record: an alias without points before one with", 400, "POST", RECORD, "alias=text&alias=number&1=1"
    ),
    Bad("record: a good alias before one without points", 400, "POST", RECORD, "alias=text&1=x&alias=number"),
    Bad("read: no alias", 400, "GET", ALIAS, reason="at least one alias in the query"),
    Bad("read: only separators", 400, "GET", f"{ALIAS}?&=&"),
    # percent-encoding, UTF-8
    Bad("write: a cut escape in a value", 400, "POST", ALIAS, "number=1&text=%4", reason="percent-encoding"),
    Bad(
        "write: a wrong escape in a name", 400, "POST", ALIAS, "number=1&te%zzxt=1", reason="percent-encoding"
    ),
    Bad("write: a bare percent sign", 400, "POST", ALIAS, "number=1&text=100%", reason="percent-encoding"),
    Bad(
        "write: an escape that is not UTF-8",
        400,
        "POST",
        ALIAS,
        "number=1&text=%ff",
        reason="not valid UTF-8",
    ),
    Bad("write: a surrogate in escapes", 400, "POST", ALIAS, "text=%ed%a0%80", reason="not valid UTF-8"),
    Bad(
        "write: bytes that are not UTF-8", 400, "POST", ALIAS, b"number=1&text=\xff", reason="not valid UTF-8"
    ),
    Bad("write: UTF-16", 400, "POST", ALIAS, "text=ü".encode("utf-16")),
    Bad("record: a wrong escape", 400, "POST", RECORD, "alias=text&1=%g0", reason="percent-encoding"),
    Bad(
        "record: bytes that are not UTF-8",
        400,
        "POST",
        RECORD,
        b"alias=text&1=\xc3",
        reason="not valid UTF-8",
    ),
    Bad("activate: a wrong escape", 400, "POST", ACTIVATE, "id=%", anonymous=True, reason="percent-encoding"),
    Bad("activate: not UTF-8", 400, "POST", ACTIVATE, b"id=\xff", anonymous=True, reason="not valid UTF-8"),
    Bad("read: a wrong escape", 400, "GET", f"{ALIAS}?text&%", reason="query: wrong percent-encoding"),
    Bad("read: an escape that is not UTF-8", 400, "GET", f"{ALIAS}?%ff", reason="query: "),
    Bad("read: bytes that are not UTF-8", 400, "GET", f"{ALIAS}?text&\udcff", reason="malformed request"),
    Bad("hybrid: a wrong escape in the query", 400, "POST", f"{ALIAS}?%a", "text=x", reason="query: "),
    Bad(
        "download: bytes that are not UTF-8",
        400,
        "GET",
        f"{DOWNLOAD}?id=\udcff",
        reason="malformed request",
    ),
    # Content-Type
    Bad(
        "write: JSON", 415, "POST", ALIAS, "text=x", [WRONG_TYPE], form=False, reason="Content-Type: expected"
    ),
    Bad(
        "write: a file upload", 415, "POST", ALIAS, "x", [("Content-Type", "multipart/form-data")], form=False
    ),
    Bad("write: no type at all", 415, "POST", ALIAS, "text=x", [("Content-Type", "")], form=False),
    Bad(
        "write: another charset",
        415,
        "POST",
        ALIAS,
        "text=x",
        [("Content-Type", "application/x-www-form-urlencoded; charset=iso-8859-1")],
        form=False,
        reason="charset=utf-8",
    ),
    Bad("record: JSON", 415, "POST", RECORD, "alias=text&1=x", [WRONG_TYPE], form=False),
    Bad("activate: JSON", 415, "POST", ACTIVATE, "id=new", [WRONG_TYPE], form=False, anonymous=True),
    # sizes
    Bad("write: over 64 KiB", 413, "POST", ALIAS, "text=" + "x" * (64 * KIB - 4), reason="larger than 65536"),
    Bad("record: over 64 KiB", 413, "POST", RECORD, "alias=text&1=" + "x" * 64 * KIB),
    Bad("activate: over 64 KiB", 413, "POST", ACTIVATE, "id=" + "x" * 64 * KIB, anonymous=True),
    Bad("a header line over the limit", 431, "GET", POLL, headers=[("X", "x" * 9 * KIB)]),
    Bad(
        "a header block over the limit",
        431,
        "GET",
        POLL,
        headers=[(f"X-{n}", "x" * 7 * KIB) for n in range(10)],
    ),
    Bad("too many headers", 431, "GET", POLL, headers=[(f"X-{n}", "x") for n in range(200)]),
    Bad("a request line over the limit", 414, "GET", f"{ALIAS}?{'x' * 9 * KIB}"),
    # paths and methods
    Bad("no endpoint", 404, "GET", "/", reason="unknown path"),
    Bad("another version", 404, "POST", "/onep:v2/stack/alias", "text=x", reason="unknown path"),
    Bad("a trailing slash", 404, "GET", "/timestamp/"),
    Bad("another letter case", 404, "GET", "/Timestamp"),
    Bad("a path that is not UTF-8", 400, "GET", "/\udcff", reason="malformed request"),
    Bad("an escaped path that is not UTF-8", 404, "GET", "/%ff"),
    Bad("a path with dots", 404, "GET", "/x/../timestamp"),
    Bad("write: wrong method", 405, "PUT", ALIAS, "text=x", reason="wrong method"),
    Bad("record: wrong method", 405, "GET", RECORD),
    Bad("activate: wrong method", 405, "GET", ACTIVATE, anonymous=True),
    Bad("download: wrong method", 405, "POST", DOWNLOAD, ""),
    Bad("timestamp: wrong method", 405, "DELETE", "/timestamp"),
    Bad("a method that nobody knows", 400, "BREW", ALIAS, reason="malformed request"),
    # timestamps of a record
    Bad(
        "record: no number",
        400,
        "POST",
        RECORD,
        "alias=number&1=1&alias=text&soon=x",
        reason="number of Unix",
    ),
    Bad("record: an empty timestamp", 400, "POST", RECORD, "alias=text&=x"),
    Bad("record: a hexadecimal timestamp", 400, "POST", RECORD, "alias=text&0x5=x"),
    Bad("record: an exponent", 400, "POST", RECORD, "alias=text&1e3=x"),
    Bad("record: not a number", 400, "POST", RECORD, "alias=text&nan=x"),
    Bad("record: digits of another script", 400, "POST", RECORD, "alias=text&%D9%A3=x"),
    Bad("record: thousands of digits", 400, "POST", RECORD, f"alias=text&{'9' * 5000}=x"),
    Bad(
        "record: too far ahead",
        400,
        "POST",
        RECORD,
        "alias=number&1=1&alias=text&1767225661=x",
        reason="ahead",
    ),
    Bad("record: a date of milliseconds", 400, "POST", RECORD, "alias=text&1767225600000=x"),
    Bad("record: before 1970", 400, "POST", RECORD, "alias=text&-1767225601=x", reason="before 1970"),
    # values that do not fit
    Bad("write: no number", 400, "POST", ALIAS, "text=x&number=warm", reason="number: expected a number"),
    Bad(
        "write: no whole number", 400, "POST", ALIAS, "integer=1.5&text=x", reason="integer: expected a whole"
    ),
    Bad("write: a whole number of 400 digits", 400, "POST", ALIAS, f"integer={'9' * 400}"),
    Bad("write: no boolean", 400, "POST", ALIAS, "text=x&flag=maybe", reason="flag: expected a boolean"),
    Bad("write: not allowed", 400, "POST", ALIAS, "text=x&level=101", reason="not among the allowed"),
    Bad("hybrid: no number", 400, "POST", f"{ALIAS}?text", "text=x&number=warm"),
    Bad(
        "record: no number", 400, "POST", RECORD, "alias=text&1=x&alias=number&1=1&5=warm", reason="number: "
    ),
    # ranges
    Bad("range: neither X nor Y", 400, "GET", f"{DOWNLOAD}?id=fw", headers=[("Range", "bytes=-")]),
    Bad("range: beyond the end", 416, "GET", f"{DOWNLOAD}?id=fw", headers=[("Range", "bytes=10-")]),
    Bad("range: the last 0 bytes", 416, "GET", f"{DOWNLOAD}?id=fw", headers=[("Range", "bytes=-0")]),
    Bad("range: of nothing", 416, "GET", f"{DOWNLOAD}?id=empty", headers=[("Range", "bytes=0-0")]),
    Bad("no such content", 404, "GET", f"{DOWNLOAD}?id=none", reason="no such content"),
    Bad("no such content to describe", 404, "GET", f"{DOWNLOAD}?id=none&info=true"),
    Bad("an empty content id", 404, "GET", f"{DOWNLOAD}?id="),
    Bad("list: another vendor", 403, "GET", f"{DOWNLOAD}?vendor=x", reason="vendor is not this product"),
    Bad("info: another model", 400, "GET", f"{DOWNLOAD}?id=fw&info=true&model=x", reason="model is not"),
    # long polls
    *(
        Bad(f"poll: Request-Timeout {text!r}", 400, "GET", POLL, headers=[("Request-Timeout", text)])
        for text in ("", "-1", "300001", "1.5", "1e3", "soon", "٣", "9" * 5000)
    ),
    *(
        Bad(
            f"poll: If-Modified-Since {text!r}",
            400,
            "GET",
            POLL,
            headers=[("Request-Timeout", "1000"), ("If-Modified-Since", text)],
            reason="If-Modified-Since: expected",
        )
        for text in ("", "-1", "yesterday", "1.5", "9" * 13, "Sun, 32 Nov 1994 08:49:37 GMT")
    ),
    Bad("poll: two aliases", 400, "GET", f"{ALIAS}?text&number", headers=[("Request-Timeout", "1000")]),
    Bad("poll: no alias", 400, "GET", ALIAS, headers=[("Request-Timeout", "1000")]),
    # identities and passwords
    Bad("activate: no identity", 400, "POST", ACTIVATE, "", anonymous=True, reason="expected id=<identity>"),
    Bad("activate: an empty identity", 400, "POST", ACTIVATE, "id=", anonymous=True),
    Bad(
        "activate: a control character", 400, "POST", ACTIVATE, "id=a%00b", anonymous=True, reason="printable"
    ),
    Bad("activate: too long an identity", 400, "POST", ACTIVATE, f"id={'x' * 257}", anonymous=True),
    Bad(
        "activate: id and sn differ",
        400,
        "POST",
        ACTIVATE,
        "id=a&sn=b",
        anonymous=True,
        reason="id and sn differ",
    ),
    Bad("activate: another format", 400, "POST", ACTIVATE, "id=12a", product="digits", anonymous=True),
    Bad("activate: another length", 400, "POST", ACTIVATE, "id=1234", product="digits", anonymous=True),
    Bad("activate: another vendor", 404, "POST", ACTIVATE, "vendor=x&model=token&sn=n", anonymous=True),
    Bad("activate: another model", 404, "POST", ACTIVATE, "vendor=token&model=x&sn=n", anonymous=True),
    Bad("password: missing", 400, "POST", ACTIVATE, "id=n", product="password", anonymous=True),
    Bad(
        "password: 19 characters",
        400,
        "POST",
        ACTIVATE,
        f"id=n&password={'x' * 19}",
        product="password",
        anonymous=True,
        reason="at least 20 characters",
    ),
    Bad(
        "password: a colon",
        400,
        "POST",
        ACTIVATE,
        f"id=a:b&password={PASSWORD}",
        product="password",
        anonymous=True,
    ),
    Bad("new password: too short", 400, "POST", ACTIVATE, "password=short", product="password"),
]


async def test_an_invalid_request_is_refused(rig: DeviceRig) -> None:
    await rig.platform.devices.content.add("token", "fw", b"0123456789")
    await rig.platform.devices.content.add("token", "empty", b"")
    for number, bad in enumerate(BAD):
        with case(bad.about):
            client = await (
                rig.connect(bad.product) if bad.anonymous else rig.device(bad.product, f"d{number}")
            )
            await check_refused(rig, client, bad)
            client.leave()


async def check_refused(rig: DeviceRig, client: Client, bad: Bad) -> None:
    before = await rig.kept()
    answer = await client.ask(bad.method, bad.path, bad.body, headers=bad.headers, form=bad.form)
    assert answer.status == bad.status
    check_refusal(answer)
    assert bad.reason in answer.body.decode()
    assert await rig.kept() == before
    entry = rig.platform.context.journal.select()[-1]
    unreadable = entry.kind == "refused"  # it never reaches the device API
    if unreadable:
        assert answer.header("Connection") == "close"
    else:
        assert (entry.kind, entry.status) == ("request", bad.status)
        assert entry.detail is not None
        assert entry.detail["reason"] == answer.body.decode()
    if answer.header("Connection") == "close" or unreadable:
        assert await client.rest() == b""
    else:  # after any fault, the next request is read from its beginning
        assert (await client.ask("GET", "/timestamp")).body == b"1767225600"


async def test_a_chunked_body_over_64_kib_is_refused_while_it_arrives(rig: DeviceRig) -> None:
    client = await rig.device()
    before = await rig.kept()
    client.write(
        f"POST {ALIAS} HTTP/1.1\r\nHost: {client.host}\r\nTransfer-Encoding: chunked\r\n"
        f"X-Platform-CIK: {client.credentials[0][1]}\r\n\r\n"
        f"20000\r\ntext={'x' * (64 * KIB)}".encode()  # and without its end
    )
    answer = await client.answer()
    assert answer.status == 413
    check_refusal(answer)
    assert await rig.kept() == before


async def test_a_chunked_body_that_is_cut_stores_nothing(rig: DeviceRig) -> None:
    client = await rig.device()
    before = await rig.kept()
    client.write(
        f"POST {ALIAS} HTTP/1.1\r\nHost: {client.host}\r\nTransfer-Encoding: chunked\r\n"
        f"X-Platform-CIK: {client.credentials[0][1]}\r\n\r\n6\r\ntext=x\r\nnonsense\r\n".encode()
    )
    answer = await client.answer()
    assert answer.status == 400
    check_refusal(answer)
    assert await rig.kept() == before


# --- failures that no client causes -------------------------------------------------------------------------


async def test_a_value_that_cannot_be_stored_is_not_acknowledged(rig: DeviceRig) -> None:
    client = await rig.device()
    before = await rig.kept()

    def limit(connection: Connection, pages: int) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    await rig.platform.context.database.read(limit, 1)  # the current size: the disk is full
    answer = await client.ask("POST", ALIAS, "text=" + "x" * 60_000)
    assert (answer.status, answer.body) == (500, b"internal error")
    assert answer.header("Content-Type") == "text/plain; charset=utf-8"
    assert await client.rest() == b""
    assert await rig.kept() == before
    assert rig.platform.context.journal.select("request")[-1].status == 500
    [error] = rig.platform.context.journal.select("error")
    assert "database or disk is full" in error.summary
    await rig.platform.context.database.read(limit, 1_000_000)
    again = await rig.connect()
    again.credentials = client.credentials
    assert (await again.ask("POST", ALIAS, "text=" + "x" * 60_000)).status == 204
    rig.platform.context.journal.clear()  # of the one intended error
