"""Authentication: which credentials identify a device, and which requests are refused."""

from __future__ import annotations

import base64
import re

from labkit.conformance import device_client, endpoints, expect, raw
from labkit.conformance.check import check
from labkit.conformance.endpoints import PRODUCTS, READ, WRITE, Headers
from labkit.conformance.target import Target
from labkit.fleet.device import VirtualDevice

TOKEN = "X-Platform-CIK"
NOBODY = "0" * 40
PASSWORD = "a password that nobody has"


def basic(identity: str, password: str) -> tuple[str, str]:
    """Return the header of Basic authorization."""
    return ("Authorization", "Basic " + base64.b64encode(f"{identity}:{password}".encode()).decode())


def base64_text(data: bytes) -> str:
    """Return bytes as base64 text."""
    return base64.b64encode(data).decode()


@check("DEV-AUTH-1", "the token header authenticates on every endpoint that needs credentials")
async def token_authenticates(target: Target) -> None:
    device = await target.activated(PRODUCTS["token"])
    assert device.token is not None
    await endpoints.expect_served(target.client(PRODUCTS["token"]), [(TOKEN, device.token)])


@check(
    "DEV-AUTH-2", "Basic with identity and password authenticates on every endpoint that needs credentials"
)
async def password_authenticates(target: Target) -> None:
    device = await target.activated(PRODUCTS["password"])
    assert device.password is not None
    credentials = basic(device.identity, device.password)
    await endpoints.expect_served(target.client(PRODUCTS["password"]), [credentials])


@check("DEV-AUTH-2", "a password may have characters of every kind, and every one of them is compared")
async def any_password(target: Target) -> None:
    client, others = target.client("password-open"), target.client("password-closed")
    for password in (
        "colons: of: which: none: parts",
        "spaces at the end, and a tab\t  ",
        "100% +plus&and=equals;#?/\\\"'",
        "grün и 温度 💡 and so on, 20",
        "CAPITALS and small letters",
        "e\u0301 is not the same as \u00e9, here",
        "x" * 4096,
    ):
        identity = target.identity()
        await endpoints.activate(client, {"id": identity, "password": password})
        await endpoints.expect_served(client, [basic(identity, password)])
        wrong = (password[:-1], f"{password} ", password.swapcase(), password.replace("e\u0301", "\u00e9"))
        for other in {each for each in wrong if each != password}:
            response = await WRITE.send_from(client, [basic(identity, other)])
            expect.status(response, 401)
        expect.status(await WRITE.send_from(others, [basic(identity, password)]), 401)  # of another product


@check("DEV-AUTH-3", "the client certificate authenticates on every endpoint that needs credentials")
async def certificate_authenticates(target: Target) -> None:
    device = target.device(PRODUCTS["certificate"])
    await device.activate()
    await endpoints.expect_served(endpoints.client_with(target, PRODUCTS["certificate"], device.certificate))


@check(
    "DEV-AUTH-4", "without credentials every endpoint that needs them answers 401, on products of every type"
)
async def credentials_are_needed(target: Target) -> None:
    for product in PRODUCTS.values():
        await endpoints.expect_refused(target.client(product), 401)


@check("DEV-AUTH-5", "a token that is unknown, cut short, longer or empty is answered 401 and stores nothing")
async def wrong_token(target: Target) -> None:
    device = await _device_with_text(target, "token")
    assert device.token is not None
    client = target.client(PRODUCTS["token"])
    for token in (NOBODY, device.token[:-1], device.token + "0", ""):
        for header in ((TOKEN, token), ("Authorization", f"token {token}")):
            await endpoints.expect_refused(client, 401, headers=[header])
    await _expect_unchanged(device)


@check("DEV-AUTH-5", "a wrong password and an unknown identity are answered 401 and store nothing")
async def wrong_password(target: Target) -> None:
    device = await _device_with_text(target, "password")
    assert device.password is not None
    client = target.client(PRODUCTS["password"])
    pairs = [
        (device.identity, PASSWORD),
        (device.identity, device.password[:-1]),
        (device.identity, ""),
        (target.identity(), device.password),
        ("", device.password),
    ]
    for identity, password in pairs:
        await endpoints.expect_refused(client, 401, headers=[basic(identity, password)])
    await _expect_unchanged(device)


@check("DEV-AUTH-5", "an unknown certificate is answered 401 on a product where it may not be provisioned")
async def unknown_certificate(target: Target) -> None:
    pair = endpoints.key_pair(target.identity())
    await endpoints.expect_refused(endpoints.client_with(target, "certificate-closed", pair), 401)


@check("DEV-AUTH-5", "an Authorization that cannot be parsed is answered 401")
async def unreadable_credentials(target: Target) -> None:
    no_colon, no_text = base64_text(b"no colon"), base64_text(b"\xff:\xff")
    for product in (PRODUCTS["password"], PRODUCTS["token"]):
        for value in ("Basic", "Basic !", f"Basic {no_colon}", f"Basic {no_text}", "Bearer x", "token", "x"):
            expect.status(await WRITE.send_from(target.client(product), [("Authorization", value)]), 401)
        for header in ((TOKEN, "\udcff" * 40), ("Authorization", "Basic \udcff\udcff\udcff=")):
            async with raw.connect(target, target.product(product).domain) as connection:
                expect.status(await connection.ask(READ.method, READ.path, [header]), 401)


@check("DEV-AUTH-6", "a product takes no credential of another type than its own")
async def other_type(target: Target) -> None:
    holder, keeper, shower = [await _device_with_text(target, auth) for auth in PRODUCTS]
    assert holder.token is not None
    assert keeper.password is not None
    token = (TOKEN, holder.token)
    password = basic(keeper.identity, keeper.password)
    wrong: dict[str, list[Headers]] = {
        "token": [[password], [basic(holder.identity, holder.token)]],
        "password": [[token], [(TOKEN, keeper.password)]],
        "certificate": [[token], [password]],
    }
    for auth, headers in wrong.items():
        for each in headers:
            await endpoints.expect_refused(target.client(PRODUCTS[auth]), 401, headers=each)
    for auth in ("token", "password"):
        await endpoints.expect_refused(endpoints.client_with(target, PRODUCTS[auth], shower.certificate), 401)


@check("DEV-AUTH-5", "the token of a device is refused on every other product, also for the same identity")
async def other_product(target: Target) -> None:
    identity = target.identity()
    products = ("token-open", "token-other", "by-word", "content")
    devices = [target.device(each, identity) for each in products]
    for each in devices:
        await each.activate()
    for each in devices:
        assert each.token is not None
        for product in products:
            response = await READ.send_from(target.client(product), [(TOKEN, each.token)])
            expect.status(response, *([200, 204] if target.product(product).domain == each.domain else [401]))


@check("DEV-AUTH-7", "a device does not read values that another device of its product wrote")
async def devices_are_apart(target: Target) -> None:
    for product in PRODUCTS.values():
        one, other = await target.activated(product), await target.activated(product)
        expect.status(await device_client.write(one, {"text": "of one"}), 204)
        expect.equal("what the other device reads", await device_client.value(other, "text"), None)
        expect.status(await device_client.write(other, {"text": "of the other"}), 204)
        expect.equal("what the first device reads", await device_client.value(one, "text"), "of one")


@check("DEV-AUTH-8", "a request with two credentials is refused and stores nothing, though both are valid")
async def two_credentials(target: Target) -> None:
    for device, headers in await _two_credentials(target):
        client = endpoints.client_with(target, PRODUCTS[device.auth], device.certificate)
        await endpoints.expect_refused(client, headers=headers)
        await _expect_unchanged(device)


@check("DEV-AUTH-9", "the refusal of two credentials is 400")
async def two_credentials_are_400(target: Target) -> None:
    for device, headers in await _two_credentials(target):
        client = endpoints.client_with(target, PRODUCTS[device.auth], device.certificate)
        await endpoints.expect_refused(client, 400, headers=headers)


@check("DEV-AUTH-9", "a client certificate is ignored on products that ask for none")
async def certificate_beside_a_token(target: Target) -> None:
    device = await _device_with_text(target, "token")
    assert device.token is not None
    stranger = target.identity()
    for name in (device.identity, stranger):
        client = endpoints.client_with(target, PRODUCTS["token"], endpoints.key_pair(name))
        await endpoints.expect_served(client, [(TOKEN, device.token)])
    expect.status(await endpoints.activate(target.client(PRODUCTS["token"]), {"id": stranger}), 200)


@check("DEV-AUTH-10", "a 401 names the authentication scheme of the product's type")
async def challenge(target: Target) -> None:
    schemes = {
        "token": re.compile(r"Token\b.*"),
        "password": re.compile(r'Basic\b.*\brealm="device".*'),
        "certificate": re.compile(r"(?!(Token|Basic)\b)[A-Za-z-]+\b.*"),
    }
    for auth, scheme in schemes.items():
        response = expect.status(await WRITE.send_from(target.client(PRODUCTS[auth])), 401)
        expect.header(response, "WWW-Authenticate", scheme)


@check("DEV-AUTH-11", "Authorization: token <token> authenticates, in any letter case")
async def token_scheme(target: Target) -> None:
    device = await target.activated(PRODUCTS["token"])
    client = target.client(PRODUCTS["token"])
    for word in ("token", "Token", "TOKEN"):
        await endpoints.expect_served(client, [("Authorization", f"{word} {device.token}")])


@check("DEV-AUTH-12", "empty headers beside a credential are ignored, and are no credential themselves")
async def empty_headers(target: Target) -> None:
    device = await target.activated(PRODUCTS["token"])
    assert device.token is not None
    client = target.client(PRODUCTS["token"])
    empty = [(TOKEN, ""), ("Authorization", "")]
    await endpoints.expect_served(client, [*empty, (TOKEN, device.token)])
    await endpoints.expect_refused(client, 401, headers=empty)
    for headers in ([(TOKEN, "")], [("Authorization", "")], empty):
        response = await endpoints.activate(client, {"id": target.identity()}, headers)
        expect.status(response, 200)
        expect.status(await endpoints.activate(client, {"id": device.identity}, headers), 409)


async def _device_with_text(target: Target, auth: str) -> VirtualDevice:
    """Return an activated device of a product of this type, whose text is `kept`."""
    device = await target.activated(PRODUCTS[auth])
    expect.status(await device_client.write(device, {"text": "kept"}), 204)
    return device


async def _expect_unchanged(device: VirtualDevice) -> None:
    expect.equal("the value that stood before", await device_client.value(device, "text"), "kept")


async def _two_credentials(target: Target) -> list[tuple[VirtualDevice, Headers]]:
    """Return devices of each type, and headers that together with the client certificate form two valid credentials."""
    holder, keeper, shower = [await _device_with_text(target, auth) for auth in PRODUCTS]
    assert holder.token is not None
    assert keeper.password is not None
    token = (TOKEN, holder.token)
    password = basic(keeper.identity, keeper.password)
    return [
        (holder, [token, token]),
        (holder, [token, ("Authorization", f"token {holder.token}")]),
        (holder, [token, password]),
        (keeper, [password, password]),
        (keeper, [password, token]),
        (shower, [token]),
        (shower, [password]),
    ]
