"""Near misses of the names and credentials of devices, contents, aliases, paths and hosts."""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import quote

from labkit.conformance import device_client, endpoints, expect, raw
from labkit.conformance.check import check
from labkit.conformance.endpoints import (
    ACTIVATE,
    ALIAS,
    CONTENT,
    DOWNLOAD,
    PRODUCTS,
    READ,
    TIMESTAMP,
    WRITE,
    activate,
)
from labkit.conformance.near_misses import CASE, EMPTY, SPACE, near_misses
from labkit.conformance.target import Target

PASSWORD = "Twenty characters and one"
PATTERNS = ("a pattern of any character", "a pattern of any text", "a glob")


def basic(identity: str, password: str) -> tuple[str, str]:
    """Return the header of Basic authorization."""
    return "Authorization", f"Basic {base64.b64encode(f'{identity}:{password}'.encode()).decode()}"


@check("DEV-AUTH-5 DEV-AUTH-7 DEV-PROV-17", "near misses of tokens, passwords and identities are refused")
async def near_credentials(target: Target) -> None:
    device = await target.activated(PRODUCTS["token"])
    expect.status(await device_client.write(device, {"text": "mine"}), 204)
    client = target.client(PRODUCTS["token"])
    token = device.token or ""
    # an empty header is no credential, and spaces around a value are not part of it
    for kind, wrong in near_misses(token, but=(*SPACE, *EMPTY)):
        for call in (READ, WRITE):
            response = await call.send_from(client, [("X-Platform-CIK", wrong)])
            expect.true(
                f"{kind} of a token is refused", response.status_code == 401, response.status_code, response
            )
        response = await activate(client, {"id": device.identity}, [("X-Platform-CIK", wrong)])
        expect.true(
            f"{kind} of a token renews none", response.status_code == 401, response.status_code, response
        )
    for _, wrong in near_misses(device.identity, but=EMPTY):
        endpoints.expect_client_error(await activate(device, {"id": wrong}))
    expect.equal("its value", await device_client.value(device, "text"), "mine")
    identity, product = target.identity(), PRODUCTS["password"]
    keeper = target.client(product)
    expect.status(await activate(keeper, {"id": identity, "password": PASSWORD}), 204)
    wrong_pairs = [(kind, (identity, wrong)) for kind, wrong in near_misses(PASSWORD)]
    wrong_pairs += [(kind, (wrong, PASSWORD)) for kind, wrong in near_misses(identity)]
    for kind, pair in wrong_pairs:
        for call in (READ, WRITE):
            response = await call.send_from(keeper, [basic(*pair)])
            expect.true(
                f"{kind} of a pair is refused", response.status_code == 401, response.status_code, response
            )
    expect.status(await WRITE.send_from(keeper, [basic(identity, PASSWORD)]), 204)


@check("DEV-PROV-11 DEV-PROV-12 DEV-CERT-5", "near misses of a whitelisted identity are refused")
async def near_whitelisted(target: Target) -> None:
    for product in ("token-closed", "password-closed", "certificate-closed"):
        listed = target.whitelisted(product)
        client = target.client(product)
        for kind, wrong in near_misses(listed, but=EMPTY):
            if wrong in target.product(product).settings.identities or len(wrong) < 3:
                continue
            if product == "certificate-closed":
                if kind in SPACE:  # some platforms compare the names of certificates without spaces
                    continue
                response = await READ.send_from(
                    endpoints.client_with(target, product, endpoints.key_pair(wrong))
                )
            else:
                response = await activate(client, {"id": wrong, "password": PASSWORD})
            endpoints.expect_client_error(response)


@check(
    "DEV-AUTH-7 DEV-ALIAS-4 DEV-ALIAS-12 DEV-READ-3",
    "near misses of aliases and identities with a value have none",
)
async def near_values(target: Target) -> None:
    # a digest, since a near miss of a counted identity is the identity of another check
    identity = f"{hashlib.sha256(target.identity().encode()).hexdigest()[:20]}-Ab"
    device = target.device("token-open", identity)
    await device.activate()
    expect.status(await device_client.write(device, {"number": "7"}), 204)
    for kind, wrong in near_misses("number", but=EMPTY):
        expect.status(await device_client.read(device, wrong), 204)
        expect.status(await device_client.write(device, {wrong: "8", "flag": "true"}), 204)
        expect.equal(f"the value after a write of {kind}", await device_client.value(device, "number"), "7")
        response = await device.request(
            "GET", f"{ALIAS}?{quote(wrong)}", headers={"Request-Timeout": "0", "If-Modified-Since": "0"}
        )
        expect.status(response, 304)
    for kind, wrong in near_misses(identity, but=EMPTY):
        other = target.device("token-open", wrong)
        await other.activate()
        expect.equal(f"what {kind} of an identity reads", await device_client.stored(other, "number"), {})
        expect.status(await device_client.write(other, {"number": "8"}), 204)
    expect.equal("the value at last", await device_client.value(device, "number"), "7")


@check("DEV-CONT-7 DEV-CONT-3 DEV-CONT-20 DEV-PROV-4", "near misses of a content's id are unknown")
async def near_contents(target: Target) -> None:
    device = await target.activated("content")
    for kind, wrong in near_misses(CONTENT, but=EMPTY):
        for info in ("", "&info=true"):
            response = await device.request("GET", f"{DOWNLOAD}?id={quote(wrong, safe='')}{info}")
            expect.true(
                f"{kind} of an id is unknown", response.status_code == 404, response.status_code, response
            )
    for vendor in (wrong for _, wrong in near_misses("token-open", but=EMPTY)):
        for fields in ({"vendor": vendor, "model": "token-open"}, {"vendor": "token-open", "model": vendor}):
            response = await activate(target.client("token-open"), {**fields, "sn": target.identity()})
            endpoints.expect_client_error(response)


@check("DEV-TLS-2 DEV-TLS-3", "near misses of a product's host name are not served")
async def near_hosts(target: Target) -> None:
    domain = target.product("token-open").domain
    label, _, rest = domain.partition(".")
    wrong = [
        f"{each}.{rest}"
        for _, each in near_misses(label, but=(*CASE, *SPACE, *EMPTY, *PATTERNS))
        if "/" not in each
    ]
    wrong += [
        f"x.{domain}",
        rest,
        f"{domain}.example",
        f"{domain}x",
        f"{label}-{rest}",
        f"{label}.{label}.{rest}",
    ]
    for name in wrong:
        if ".." in name:
            continue
        async with raw.connect(target, domain) as connection:
            request = f"GET {TIMESTAMP} HTTP/1.1\r\nHost: {name}\r\n\r\n"
            await raw.unanswered(connection, request, f"Host {name}")
        try:
            async with raw.connect(target, name) as connection:
                request = f"GET {TIMESTAMP} HTTP/1.1\r\nHost: {name}\r\n\r\n"
                await raw.unanswered(connection, request, f"SNI {name}")
        except raw.HandshakeEnded:
            pass


@check("DEV-HTTP-5 DEV-HTTP-13 DEV-HTTP-7", "near misses of an endpoint's path are answered 404")
async def near_paths(target: Target) -> None:
    device = await target.activated("content")
    for path in (TIMESTAMP, ALIAS, DOWNLOAD, ACTIVATE, device_client.RECORD):
        for kind, wrong in near_misses(path, but=(*EMPTY, *SPACE)):
            target_path = quote(wrong if wrong.startswith("/") else f"/x{wrong}", safe="/:*%")
            response = await device.request("GET", f"{target_path}?text")
            expect.true(
                f"{kind} of {path} is no path", response.status_code == 404, response.status_code, response
            )
