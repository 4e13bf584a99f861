"""The TLS rule: SNI names the product, Host is the same name, and anything else gets no answer."""

from __future__ import annotations

import ssl

from labkit.conformance import device_client, endpoints, expect, raw
from labkit.conformance.check import check
from labkit.conformance.endpoints import ALIAS, CONTENT, DOWNLOAD, TIMESTAMP
from labkit.conformance.target import Target
from labkit.control.journal import Entry
from labkit.fleet.device import FORM

UNKNOWN = "nowhere.example"


@check("DEV-TLS-1", "a token of one product is unknown to another")
async def tokens_of_others(target: Target) -> None:
    device = await target.activated("token-open")
    expect.status(await device_client.write(device, {"text": "hello"}), 204)
    assert device.token is not None
    await endpoints.expect_refused(
        target.client("token-other"), 401, headers=[("X-Platform-CIK", device.token)]
    )


@check("DEV-TLS-1", "a content of one product is neither listed nor found at another")
async def content_of_others(target: Target) -> None:
    owner, other = await target.activated("content"), await target.activated("token-other")
    listed = expect.status(await owner.request("GET", DOWNLOAD), 200)
    expect.true("the product lists its content", CONTENT in listed.text.splitlines(), listed.text, listed)
    listed = expect.status(await other.request("GET", DOWNLOAD), 200)
    expect.true("the other one does not", CONTENT not in listed.text.splitlines(), listed.text, listed)
    for query in (f"id={CONTENT}", f"id={CONTENT}&info=true"):
        expect.status(await other.request("GET", f"{DOWNLOAD}?{query}"), 404)


@check("DEV-TLS-2", "a connection without SNI ends without a byte of HTTP, whatever Host it would name")
async def no_server_name(target: Target) -> None:
    await _no_connection(target, None, target.product("token-open").domain)


@check("DEV-TLS-2", "a connection whose SNI names nothing here ends without a byte of HTTP")
async def unknown_server_name(target: Target) -> None:
    domain = target.product("token-open").domain
    for name in (UNKNOWN, f"x{domain}", domain.partition(".")[2]):
        await _no_connection(target, name, name)
        await _no_connection(target, name, domain)


@check("DEV-TLS-3", "a request without Host, or with another one, ends its connection without a byte of HTTP")
async def wrong_host(target: Target) -> None:
    domain = target.product("token-open").domain
    for host in _wrong_hosts(target):
        async with raw.connect(target, domain) as connection:
            await raw.unanswered(connection, _request(host), f"Host {host!r}")
    async with raw.connect(target, domain) as connection:
        await raw.unanswered(connection, f"GET {TIMESTAMP} HTTP/1.0\r\n\r\n", "no Host in HTTP/1.0")


@check("DEV-TLS-3", "a later request with a wrong Host ends a connection that was answered before")
async def wrong_host_later(target: Target) -> None:
    for host in _wrong_hosts(target):
        async with raw.connect(target, target.product("token-open").domain) as connection:
            expect.status(await connection.ask("GET", TIMESTAMP), 200)
            await raw.unanswered(connection, _request(host), f"Host {host!r}")


@check(
    "DEV-TLS-3", "a request that is malformed or too large, with another Host or none, gets no byte of HTTP"
)
async def wrong_host_of_what_cannot_be_read(target: Target) -> None:
    domain = target.product("token-open").domain
    for host in (None, target.product("token-other").domain, UNKNOWN):
        for what, request in raw.unreadable(TIMESTAMP, host).items():
            async with raw.connect(target, domain) as connection:
                await raw.unanswered(connection, request[0], f"{what}, Host {host!r}")
    async with raw.connect(target, domain) as connection:
        twice = f"GET {TIMESTAMP} HTTP/1.1\r\nHost: {domain}\r\nHost: {UNKNOWN}\r\n\r\n"
        await raw.unanswered(connection, twice, "two names in Host")


@check("DEV-TLS-4", "SNI and Host may be written in any letter case, and Host with a port")
async def names_in_any_case(target: Target) -> None:
    domain, port = target.product("token-open").domain, target.address.https_port
    for name in (domain, domain.upper(), domain.title()):
        async with raw.connect(target, name) as connection:
            for host in (domain, domain.upper(), f"{domain}:{port}", f"{domain.upper()}:1"):
                expect.status(await connection.ask("GET", TIMESTAMP, host=host), 200)


@check("DEV-TLS-5", "a connection that ends for its SNI leaves one record with the name", needs={"journal"})
async def journal_of_server_names(target: Target) -> None:
    for name, said in ((UNKNOWN, UNKNOWN), (None, "no server")):
        before = await _refusals(target)
        await _no_connection(target, name, UNKNOWN)
        text = await _only_refusal(target, before)
        expect.true(f"the record says {said!r}", said in text and "SNI" in text, text)


@check(
    "DEV-TLS-5", "a connection that ends for its Host leaves one record with both names", needs={"journal"}
)
async def journal_of_hosts(target: Target) -> None:
    domain = target.product("token-open").domain
    before = await _refusals(target)
    async with raw.connect(target, domain) as connection:
        await raw.unanswered(connection, _request(UNKNOWN), "another Host")
    text = await _only_refusal(target, before)
    expect.true("the record says both names", UNKNOWN in text and domain in text and "Host" in text, text)


@check("DEV-TLS-6", "TLS 1.2 and 1.3 are spoken, with and without a client certificate")
async def versions(target: Target) -> None:
    domain = target.product("certificate-open").domain
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        async with raw.connect(target, domain, version=version) as connection:
            expect.status(await connection.ask("GET", TIMESTAMP), 200)
        pair = endpoints.key_pair(target.identity())
        async with raw.connect(target, domain, version=version, certificate=pair) as connection:
            response = await connection.ask("POST", ALIAS, [("Content-Type", FORM)], b"text=hello")
            expect.status(response, 204)


@check("DEV-TLS-7", "over plain HTTP Host names the product, and the answers are the same")
async def plain_http(target: Target) -> None:
    device = await target.activated("token-open")
    expect.status(await device_client.write(device, {"text": "over TLS"}), 204)
    assert device.token is not None
    credentials = ("X-Platform-CIK", device.token)
    form = ("Content-Type", FORM)
    domain = target.product("token-open").domain
    async with raw.connect(target, domain) as secure, raw.connect_plainly(target, domain) as plain:
        for method, path, headers, content in (
            ("GET", TIMESTAMP, [], b""),
            ("GET", f"{ALIAS}?text", [credentials], b""),
            ("GET", f"{ALIAS}?text", [], b""),
            ("POST", f"{ALIAS}?text", [credentials, form], b"text=over+HTTP"),
            ("POST", ALIAS, [credentials, form], b"text=%"),
            ("GET", "/nowhere", [], b""),
        ):
            over_tls, clear = [await each.ask(method, path, headers, content) for each in (secure, plain)]
            expect.equal("the status over plain HTTP", clear.status_code, over_tls.status_code, clear)
            if path != TIMESTAMP:  # time goes on
                expect.equal("the body over plain HTTP", clear.content, over_tls.content, clear)
    async with raw.connect_plainly(target, target.product("token-other").domain) as plain:
        expect.status(await plain.ask("GET", f"{ALIAS}?text", [credentials]), 401)


def _wrong_hosts(target: Target) -> list[str | None]:
    """Return wrong values of Host for token-open; None omits the header."""
    domain = target.product("token-open").domain
    return [None, "", UNKNOWN, f"x{domain}", "127.0.0.1", target.product("token-other").domain]


def _request(host: str | None) -> str:
    lines = [f"GET {TIMESTAMP} HTTP/1.1", *([] if host is None else [f"Host: {host}"]), "", ""]
    return "\r\n".join(lines)


async def _no_connection(target: Target, name: str | None, host: str) -> None:
    """Raise Mismatch unless a handshake with `name` in SNI fails, or its connection ends without a byte of HTTP."""
    try:
        async with raw.connect(target, name) as connection:
            await raw.unanswered(connection, _request(host), f"SNI {name!r}")
    except raw.HandshakeEnded:
        pass


async def _refusals(target: Target, since: int = 0) -> list[Entry]:
    """Return the journal's records of refused connections with a sequence number above `since`."""
    await target.settle()
    records = await target.in_lab(target.lab.journal.select, "refused")
    return [each for each in records if each.sequence > since]


async def _only_refusal(target: Target, since: list[Entry]) -> str:
    """Return the text of the only refusal after `since`. Raises Mismatch if there are more or none."""
    refusals = await _refusals(target, since[-1].sequence if since else 0)
    expect.equal("records of the refusal", len(refusals), 1)
    return f"{refusals[0].summary} {refusals[0].detail}"
