"""HTTP rules of all endpoints: expect_forms, refusals, paths, methods."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, endpoints, expect, raw
from labkit.conformance.check import check
from labkit.conformance.endpoints import ACTIVATE, ALIAS, CONTENT, DOWNLOAD, RECORD, TIMESTAMP
from labkit.conformance.target import Target
from labkit.fleet.device import FORM, VirtualDevice

if TYPE_CHECKING:
    import httpx

METHODS = {
    ACTIVATE: {"POST"},
    DOWNLOAD: {"GET"},
    ALIAS: {"GET", "POST"},
    RECORD: {"POST"},
    TIMESTAMP: {"GET"},
}
BARE = "application/x-www-form-urlencoded"
TEXT = "grün & 温度"  # sent in UTF-8


async def expect_forms(target: Target, content_type: str | None) -> None:
    """Raise Mismatch unless the four form endpoints accept a body of this type, and store it as UTF-8."""
    headers = {} if content_type is None else {"Content-Type": content_type}
    device = target.device("token-open")

    async def post(path: str, content: bytes) -> httpx.Response:
        return await device.request("POST", path, content=content, headers=headers)

    device.token = expect.status(await post(ACTIVATE, f"id={device.identity}".encode()), 200).text
    expect.status(await post(ALIAS, b"text=gr%C3%BCn+%26+%E6%B8%A9%E5%BA%A6"), 204)
    expect.equal("the written value", await device_client.value(device, "text"), TEXT)
    response = expect.status(await post(f"{ALIAS}?text", "text=grün+%26+温度!".encode()), 200)
    expect.equal("the value of the hybrid", device_client.values(response), {"text": f"{TEXT}!"})
    expect.status(await post(RECORD, "alias=Text&1000000000=grün".encode()), 204)
    expect.equal("the recorded value", await device_client.value(device, "Text"), "grün")


@check("DEV-HTTP-1", "the form endpoints take application/x-www-form-urlencoded; charset=utf-8")
async def form_with_charset(target: Target) -> None:
    await expect_forms(target, "application/x-www-form-urlencoded; charset=utf-8")


@check("DEV-HTTP-2", "a body without Content-Type, or without charset, is a form in UTF-8")
async def form_without_charset(target: Target) -> None:
    await expect_forms(target, None)
    await expect_forms(target, BARE)


@check("DEV-HTTP-2", "the type of a form may have any letter case, spaces, quotes and other parameters")
async def forms_spelt_otherwise(target: Target) -> None:
    await expect_forms(target, BARE.upper())
    await expect_forms(target, f'{BARE} ; Charset="UTF-8"')
    await expect_forms(target, f"{BARE};charset=utf8; x=y")
    await expect_forms(target, f"{BARE}; x=y")


@check("DEV-HTTP-3", "another Content-Type or charset is answered 415, and nothing is stored")
async def other_content_types(target: Target) -> None:
    device = await device_with_text(target)
    fresh = target.device("token-open")
    for content_type in ("application/json", "text/plain", f"{BARE}x", f"{BARE}; charset=iso-8859-1"):
        headers = {"Content-Type": content_type}
        for path, content in (
            (ALIAS, b"text=other"),
            (f"{ALIAS}?text", b"text=other"),
            (RECORD, b"alias=text&1000000000=other"),
        ):
            expect.status(await device.request("POST", path, content=content, headers=headers), 415)
        content = f"id={fresh.identity}".encode()
        expect.status(await fresh.request("POST", ACTIVATE, content=content, headers=headers), 415)
    await _expect_unchanged(device)
    await fresh.activate()  # 409 if one of the requests before had provisioned it


@check(
    "DEV-HTTP-4", "a wrong percent-escape, or bytes that are not UTF-8, are answered 400 and store nothing"
)
async def broken_encoding(target: Target) -> None:
    device = await device_with_text(target)
    fresh = target.device("token-open")
    headers = {"Content-Type": FORM}
    for bad in (b"%", b"%4", b"%zz", b"%+1", b"\xff", b"%ff", b"\xc3", b"%c3", b"%ED%A0%80"):
        for path, content in (
            (ALIAS, b"text=other&Text=" + bad),
            (ALIAS, b"text=other&" + bad + b"=1"),
            (RECORD, b"alias=text&1000000000=other&alias=Text&1=" + bad),
        ):
            response = await device.request("POST", path, content=content, headers=headers)
            expect.status(response, 400)
        content = f"id={fresh.identity}".encode() + bad
        expect.status(await fresh.request("POST", ACTIVATE, content=content, headers=headers), 400)
    await _expect_unchanged(device)
    await fresh.activate()


@check(
    "DEV-HTTP-4",
    "a wrong percent-escape, or bytes that are not UTF-8, in a query are answered 400 and store nothing",
)
async def broken_query(target: Target) -> None:
    device = await device_with_text(target)
    assert device.token is not None
    headers = [("X-Platform-CIK", device.token), ("Content-Type", FORM)]
    for bad in ("%", "%4", "%zz", "\udcff", "%ff", "%c3"):  # the surrogate represents the byte FF
        for method, path, content in (
            ("GET", f"{ALIAS}?text&", b""),
            ("GET", f"{DOWNLOAD}?id=", b""),
            ("POST", f"{ALIAS}?text&", b"text=other"),
        ):
            async with raw.connect(target, target.product("token-open").domain) as connection:
                expect.status(await connection.ask(method, path + bad, headers, content), 400)
    await _expect_unchanged(device)


@check("DEV-HTTP-17", "percent-encoded paths, whole URLs, and paths that resemble them")
async def targets(target: Target) -> None:
    device = await device_with_text(target)
    assert device.token is not None
    domain = target.product("token-open").domain
    headers = [("X-Platform-CIK", device.token)]
    for path, status in (
        ("/timestamp", 200),
        ("/%74imestam%70", 200),
        ("/timestamp?a=http://b/c", 200),
        (f"https://{domain}/timestamp", 200),
        (f"http://{domain}/timestamp", 200),
        (f"HTTPS://{domain}:443/timestamp?a=b", 200),
        (f"https://{domain}/%74imestamp", 200),
        (f"https://{domain}{ALIAS}?text", 200),
        (f"{ALIAS}?%74ext", 200),
        (f"https://{domain}/", 404),
        (f"https://{domain}", 404),
        ("/a://b/timestamp", 404),
        (f"/https://{domain}/timestamp", 404),
        ("/TIMESTAMP", 404),
        ("/timestamp/", 404),
        ("/time%2573tamp", 404),
    ):
        async with raw.connect(target, domain) as connection:
            response = expect.status(await connection.ask("GET", path, headers), status)
            if "text" in path:
                expect.body(response, "text=kept")
    for host in (target.product("token-other").domain, f"x{domain}", f"{domain}x", ""):
        async with raw.connect(target, domain) as connection:
            request = f"GET https://{host}/timestamp HTTP/1.1\r\nHost: {domain}\r\n\r\n"
            await raw.unanswered(connection, request, f"a request target for {host!r}")


async def answers_to_invalid(target: Target) -> list[httpx.Response]:
    """Return the answers to invalid requests, one of each kind."""
    device = await device_with_text(target)
    assert device.token is not None
    stranger = target.client("token-open")
    headers = {"Content-Type": FORM}

    async def ask(method: str, path: str, content: bytes = b"", **more: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return await device.request(method, path, content=content, headers={**headers, **named})

    return [
        await stranger.request("GET", f"{ALIAS}?text"),
        await stranger.request("GET", f"{ALIAS}?text", headers={"X-Platform-CIK": "x"}),
        await endpoints.activate(stranger, {}),
        await endpoints.activate(stranger, {"id": device.identity}),
        await endpoints.activate(stranger, {"id": "x" * 257}),
        await endpoints.activate(target.client("token-closed"), {"id": target.identity()}),
        await endpoints.activate(target.client("token-off"), {"id": "allowed-000"}),
        await endpoints.activate(
            target.client("password-open"), {"id": target.identity(), "password": "short"}
        ),
        await ask("POST", ALIAS),
        await ask("POST", ALIAS, b"text=%"),
        await ask("POST", ALIAS, b"text=\xff"),
        await ask("POST", ALIAS, b"number=many"),
        await ask("POST", ALIAS, b"text=x", Content_Type="application/json"),
        await ask("POST", ALIAS, b"text=" + b"x" * 70_000),
        await ask("GET", ALIAS),
        await ask("GET", f"{ALIAS}?text&Text", Request_Timeout="1000"),
        await ask("GET", f"{ALIAS}?text", Request_Timeout="soon"),
        await ask("GET", f"{ALIAS}?text", Request_Timeout="1000", If_Modified_Since="once"),
        await ask("POST", RECORD, b"alias=text"),
        await ask("POST", RECORD, b"alias=text&1=a&1=b"),
        await ask("POST", RECORD, b"alias=text&then=a"),
        await ask("GET", f"{DOWNLOAD}?id=nothing"),
        await ask("GET", "/nowhere"),
        await ask("PUT", ALIAS, b"text=x"),
    ]


@check("DEV-HTTP-5", "a client's mistake is answered 400 to 499")
async def client_errors(target: Target) -> None:
    for response in await answers_to_invalid(target):
        endpoints.expect_client_error(response)


@check("DEV-HTTP-6", "a refusal has a short reason in text/plain, without traceback, path or secret")
async def reasons(target: Target) -> None:
    telling = re.compile(r"Traceback|File \"|\.py\b|site-packages|/labkit/|[0-9a-f]{40}")
    for response in await answers_to_invalid(target):
        if response.status_code == 409 and "text=" in response.text:
            continue  # the body of a record's conflict is data
        expect.refusal(response, response.status_code)
        expect.true(
            "the reason shows no internals", not telling.search(response.text), response.text, response
        )


@check("DEV-HTTP-7", "a path that is no endpoint is answered 404")
async def unknown_paths(target: Target) -> None:
    device = await device_with_text(target)
    paths = [
        "/",
        "/onep:v2/stack/alias",
        "/onep:v1/stack",
        "/onep:v1/stack/alias/",
        "/provision",
        "/timestamp/x",
    ]
    for path in (*paths, "/Timestamp", "/onep:v1/stack/aliases"):
        expect.status(await device.request("GET", f"{path}?text"), 404)
        headers = {"Content-Type": FORM}
        expect.status(await device.request("POST", path, content=b"text=other", headers=headers), 404)
    await _expect_unchanged(device)


@check("DEV-HTTP-8", "a method that a path does not have is answered 405, and Allow lists those it has")
async def wrong_methods(target: Target) -> None:
    device = await device_with_text(target)
    for path, methods in METHODS.items():
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"} - methods:
            response = expect.status(await device.request(method, path), 405)
            _allows(response, methods, method)


@check("DEV-HTTP-8", "Allow lists the very methods that are not answered 405")
async def listed_methods(target: Target) -> None:
    client = target.client("token-open")
    for path in METHODS:
        response = expect.status(await client.request("OPTIONS", path), 204)
        allowed = {each.strip() for each in response.headers.get("Allow", "").split(",")}
        asked = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND")
        taken = {each for each in asked if (await client.request(each, path)).status_code != 405}
        expect.equal(f"methods of {path}", sorted(allowed), sorted(taken), response)


@check("DEV-HTTP-10", "OPTIONS is answered 204 with Allow, without credentials")
async def options(target: Target) -> None:
    for path, methods in METHODS.items():
        response = expect.status(await target.client("token-open").request("OPTIONS", path), 204)
        _allows(response, methods, "PUT")


def _allows(response: httpx.Response, methods: set[str], unknown: str) -> None:
    allowed = {each.strip() for each in response.headers.get("Allow", "").split(",")}
    expect.true(f"Allow lists {sorted(methods)}", methods <= allowed, sorted(allowed), response)
    expect.true(f"Allow does not list {unknown}", unknown not in allowed, sorted(allowed), response)


READS = (
    TIMESTAMP,
    f"{ALIAS}?text",
    DOWNLOAD,
    f"{DOWNLOAD}?id={CONTENT}&info=true",
    f"{DOWNLOAD}?id={CONTENT}",
)


@check("DEV-HTTP-9", "HEAD has the status and headers of GET, and no body")
async def head(target: Target) -> None:
    device = await device_with_text(target, "content")
    async with raw.connect(target, target.product("content").domain) as connection:
        for path in (*READS, f"{DOWNLOAD}?id=nothing", "/nowhere"):
            headers = [("X-Platform-CIK", device.token or "")]
            short = await connection.ask("HEAD", path, headers)
            full = await connection.ask("GET", path, headers)  # fails if the answer to HEAD had a body
            expect.equal("the status of HEAD", short.status_code, full.status_code, short)
            expect.equal("the headers of HEAD", _shown(short), _shown(full), short)


@check("DEV-HTTP-15", "the next answer follows the head of a 204 or 304 directly, without a body")
async def empty(target: Target) -> None:
    device = await device_with_text(target, "token-open")
    new = f"id={target.identity()}&password={'x' * 20}".encode()
    token, form = ("X-Platform-CIK", device.token or ""), ("Content-Type", FORM)
    for product, method, path, headers, content, status in (
        ("token-open", "POST", ALIAS, [token, form], b"text=written", 204),
        ("token-open", "POST", f"{ALIAS}?number", [token, form], b"text=written", 204),
        ("token-open", "POST", RECORD, [token, form], b"alias=text&1000000000=recorded", 204),
        ("token-open", "GET", f"{ALIAS}?number", [token], b"", 204),
        ("token-open", "GET", f"{ALIAS}?text", [token, ("Request-Timeout", "0")], b"", 304),
        ("token-open", "OPTIONS", ALIAS, [], b"", 204),
        ("password-open", "POST", ACTIVATE, [form], new, 204),
    ):
        async with raw.connect(target, target.product(product).domain) as connection:
            expect.status(await connection.ask(method, path, headers, content), status)
            # HTTP clients drop a body that may not be there; here the next answer would begin with it.
            expect.status(await connection.ask("GET", TIMESTAMP), 200)


def _shown(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name != "date"}


@check("DEV-HTTP-11", "another Accept header, or none, gets the same answer")
async def any_accept(target: Target) -> None:
    device = await device_with_text(target, "content")
    credentials = ("X-Platform-CIK", device.token or "")
    async with raw.connect(target, target.product("content").domain) as connection:
        for path in READS:
            expected = await connection.ask("GET", path, [credentials, ("Accept", FORM)])
            expect.status(expected, 200)
            for value in (None, "*/*", "application/json", "image/png;q=0", "nonsense", ""):
                accept = [] if value is None else [("Accept", value)]
                response = await connection.ask("GET", path, [credentials, *accept])
                expect.equal("the status", response.status_code, 200, response)
                if path != TIMESTAMP:  # time goes on
                    expect.equal("the body", response.content, expected.content, response)


@check("DEV-HTTP-13", "write, read, hybrid and record are found below /onep:v1/stack/")
async def version_one(target: Target) -> None:
    device = await target.activated("token-open")
    form: dict[str, Any] = {"headers": {"Content-Type": FORM}}
    expect.status(await device.request("POST", "/onep:v1/stack/alias", content=b"text=hello", **form), 204)
    response = expect.status(await device.request("GET", "/onep:v1/stack/alias?text"), 200)
    expect.body(response, "text=hello")
    path = "/onep:v1/stack/alias?text"
    expect.body(
        expect.status(await device.request("POST", path, content=b"text=you", **form), 200), "text=you"
    )
    recorded = b"alias=number&1000000000=1"
    expect.status(await device.request("POST", "/onep:v1/stack/record", content=recorded, **form), 204)


async def device_with_text(target: Target, product: str = "token-open") -> VirtualDevice:
    """Return an activated device whose text is `kept`."""
    device = await target.activated(product)
    expect.status(await device_client.write(device, {"text": "kept"}), 204)
    return device


async def _expect_unchanged(device: VirtualDevice) -> None:
    expect.equal("the value that stood before", await device_client.value(device, "text"), "kept")


@check("DEV-HTTP-14", "a request that is malformed or too large is answered with its status, in plain text")
async def unreadable(target: Target) -> None:
    domain = target.product("token-open").domain
    for what, (request, status) in raw.unreadable(TIMESTAMP, domain).items():
        async with raw.connect(target, domain) as connection:
            connection.send(request)
            answer = await connection.rest()
            line, _, rest = answer.decode("latin-1").partition("\r\n")
            expect.equal(f"version and status of {what}", line.split()[:2], ["HTTP/1.1", str(status)])
            expect.true(f"a reason in plain text for {what}", "Content-Type: text/plain" in rest, rest)
