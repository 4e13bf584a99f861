"""Provisioning of credentials: POST /provision/activate."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from labkit.conformance import device_client, endpoints, expect
from labkit.conformance.check import check, model_check
from labkit.conformance.device.authentication.checks import TOKEN, basic
from labkit.conformance.endpoints import PRODUCTS, activate
from labkit.conformance.target import Target
from labkit.fleet.device import VirtualDevice
from labkit.fleet.flow import FlowClient

if TYPE_CHECKING:
    import httpx

    from labkit.conformance.models.game import Game


FORTY = re.compile(r"[!-~]{40}")
PASSWORD = "correct horse battery staple"
OTHER_PASSWORD = "another horse in the stable"


@check("DEV-PROV-1", "id is answered 200 with the token alone, as text/plain")
async def token_by_id(target: Target) -> None:
    response = expect.status(await activate(target.client("token-open"), {"id": target.identity()}), 200)
    expect.header(response, "Content-Type", "text/plain; charset=utf-8")
    expect.body(response, FORTY)


@check("DEV-PROV-2", "each token has 40 characters and is unique")
async def tokens_differ(target: Target) -> None:
    tokens = []
    for _ in range(4):
        device = await target.activated("token-open")
        tokens.append(device.token)
        await device.activate()
        tokens.append(device.token)
    expect.equal("lengths", {len(token or "") for token in tokens}, {40})
    expect.equal("different ones of 8 tokens", len(set(tokens)), 8)


@check("DEV-PROV-3", "a token is made of lower-case hexadecimal digits")
async def token_is_hexadecimal(target: Target) -> None:
    response = expect.status(await activate(target.client("token-open"), {"id": target.identity()}), 200)
    expect.body(response, re.compile(r"[0-9a-f]*"))


@check("DEV-PROV-4", "vendor, model and sn are answered 200 with a token")
async def token_by_serial_number(target: Target) -> None:
    fields = {"vendor": "token-open", "model": "token-open", "sn": target.identity()}
    expect.body(expect.status(await activate(target.client("token-open"), fields), 200), FORTY)


@check("DEV-PROV-5", "the token that came back authenticates later requests")
async def token_is_good(target: Target) -> None:
    client = target.client(PRODUCTS["token"])
    response = expect.status(await activate(client, {"id": target.identity()}), 200)
    await endpoints.expect_served(client, [(TOKEN, response.text)])


@check("DEV-PROV-5", "the password that was set authenticates later requests")
async def password_is_good(target: Target) -> None:
    client, identity = target.client(PRODUCTS["password"]), target.identity()
    expect.status(await activate(client, {"id": identity, "password": PASSWORD}), 204)
    await endpoints.expect_served(client, [basic(identity, PASSWORD)])


@check("DEV-PROV-6", "id and password are answered 204")
async def password_by_id(target: Target) -> None:
    fields = {"id": target.identity(), "password": PASSWORD}
    expect.status(await activate(target.client("password-open"), fields), 204)


@check("DEV-PROV-7", "a password of 19 characters is refused and provisions nothing, one of 20 is taken")
async def shortest_password(target: Target) -> None:
    client, identity = target.client("password-open"), target.identity()
    endpoints.expect_client_error(await activate(client, {"id": identity, "password": PASSWORD[:19]}))
    await endpoints.expect_refused(client, 401, headers=[basic(identity, PASSWORD[:19])])
    expect.status(await activate(client, {"id": identity, "password": PASSWORD[:20]}), 204)


@check("DEV-PROV-8", "an identity that does not fit the format is refused and gets no credentials")
async def unfit_identity(target: Target) -> None:
    client = target.client("format-base10")
    for identity in ("12345a", "abcdef", "1234567"):
        endpoints.expect_client_error(await activate(client, {"id": identity, "password": PASSWORD}))
        expect.status(await client.request("GET", f"{endpoints.ALIAS}?text", auth=(identity, PASSWORD)), 401)
    fields = {"id": digits(target, 6), "password": PASSWORD}
    expect.status(await activate(client, fields), 204)


@check("DEV-PROV-9", "each identity format takes what it should and nothing else")
async def formats(target: Target) -> None:
    number, hexadecimal = digits(target, 6), digits(target, 31) + "a"
    upper = hexadecimal.upper()
    uuid = "-".join(hexadecimal[start:end] for start, end in pairwise((0, 8, 12, 16, 20, 32)))
    pairs = [hexadecimal[start : start + 2] for start in range(20, 32, 2)]
    long = target.identity().ljust(256, "x")
    mine = target.identity()
    fits = {
        "token-open": [f"{mine} ,;.:/%ü", long],
        "format-base10": [number],
        "format-base16": [f"id:{upper}", f"id:{upper[-9:]}"],
        "format-uuid": [uuid],
        "format-mac": [":".join(pairs), "-".join(pairs[::-1]), "".join(pairs[::2] * 2).upper()],
    }
    unfit = {
        "token-open": [f"{long}x", f"{mine}\n", f"{mine}\0", f"\t{mine}"],
        "format-base10": [number[:5], f"{number}1", f"{number[:5]}a", f"-{number[:5]}", "١٢٣٤٥٦"],
        "format-base16": [upper, f"id:{upper.lower()}", f"id:{upper}G", "id:", f"ID:{upper}"],
        "format-uuid": [uuid.upper(), uuid.replace("-", ""), uuid[:-1], f"{uuid}0", f"g{uuid[1:]}"],
        "format-mac": [":".join(pairs[:5]), ":".join([*pairs, "00"]), "g".join(pairs), ":".join(pairs)[:-1]],
    }
    for product, identities in fits.items():
        for identity in identities:
            response = await activate(target.client(product), {"id": identity, "password": PASSWORD})
            expect.status(response, 204 if target.product(product).settings.auth == "password" else 200)
    for product, identities in unfit.items():
        for identity in identities:
            response = await activate(target.client(product), {"id": identity, "password": PASSWORD})
            expect.status(response, 400)


@check("DEV-PROV-10", "an identity never seen before activates itself, by default and where that is set")
async def self_registration(target: Target) -> None:
    for product in ("token-open", "password-open"):
        await target.device(product).activate()


@check("DEV-PROV-11", "with self-registration off, only whitelisted identities get credentials")
async def whitelist(target: Target) -> None:
    for product, status in (("token-closed", 200), ("password-closed", 204)):
        client, stranger = target.client(product), target.identity()
        response = await activate(client, {"id": stranger, "password": PASSWORD})
        endpoints.expect_client_error(response)
        expect.true("there is no token", not FORTY.fullmatch(response.text), response.text, response)
        elsewhere = target.device(product.replace("closed", "open"), stranger)
        await elsewhere.activate()  # valid credentials, but of a product whose devices may register
        for headers in (
            [basic(stranger, elsewhere.password or PASSWORD)],
            [(TOKEN, elsewhere.token or "0" * 40)],
        ):
            await endpoints.expect_refused(client, 401, headers=headers)

        async def listed(identity: str, client: FlowClient = client) -> httpx.Response:
            return await activate(client, {"id": identity, "password": PASSWORD})

        expect.status(await endpoints.first_use(target, product, listed, taken=409), status)


@check(
    "DEV-PROV-12",
    "after self-registration is switched off, a device is refused until it is whitelisted",
    needs={"settings"},
)
async def switched_off(target: Target) -> None:
    for product in PRODUCTS.values():
        device = await target.activated(product)
        await endpoints.expect_served(device)
        handle = target.lab.product(product)
        await target.in_lab(handle.settings.change, self_registration=False)
        try:
            await endpoints.expect_refused(device)
            await target.in_lab(handle.allow, device.identity)
            await endpoints.expect_served(device)
        finally:
            await target.in_lab(handle.settings.change, self_registration=True)


@check("DEV-PROV-13", "the refusal after self-registration is switched off is 401", needs={"settings"})
async def switched_off_is_401(target: Target) -> None:
    for product in PRODUCTS.values():
        device = await target.activated(product)
        settings = target.lab.product(product).settings
        await target.in_lab(settings.change, self_registration=False)
        try:
            await endpoints.expect_refused(device, 401)
        finally:
            await target.in_lab(settings.change, self_registration=True)


@check("DEV-PROV-14", "a device created in advance activates by vendor, model and sn, and then writes")
async def created_in_advance(target: Target) -> None:
    client = target.client("token-closed")
    named = {"vendor": "token-closed", "model": "token-closed"}

    async def listed(identity: str) -> httpx.Response:
        return await activate(client, {**named, "sn": identity})

    token = expect.status(await endpoints.first_use(target, "token-closed", listed, taken=409), 200).text
    expect.status(await endpoints.WRITE.send_from(client, [(TOKEN, token)]), 204)
    expect.body(expect.status(await endpoints.READ.send_from(client, [(TOKEN, token)]), 200), "text=written")


@check("DEV-PROV-15", "activating again with the token gives another, and the old one is answered 401")
async def token_again(target: Target) -> None:
    device = await target.activated(PRODUCTS["token"])
    await endpoints.expect_served(device)
    old = device.token or ""
    response = expect.status(await activate(device, {"id": device.identity}), 200)
    expect.body(response, FORTY)
    expect.true("the token is another one", response.text != old, "the same")
    client = target.client(PRODUCTS["token"])
    await endpoints.expect_served(client, [(TOKEN, response.text)])
    await endpoints.expect_refused(client, 401, headers=[(TOKEN, old)])


@check("DEV-PROV-16", "activating again with Basic sets the new password, and the old one is answered 401")
async def password_again(target: Target) -> None:
    device = await target.activated(PRODUCTS["password"])
    await endpoints.expect_served(device)
    old = device.password or ""
    expect.status(await activate(device, {"id": device.identity, "password": PASSWORD}), 204)
    client = target.client(PRODUCTS["password"])
    await endpoints.expect_served(client, [basic(device.identity, PASSWORD)])
    await endpoints.expect_refused(client, 401, headers=[basic(device.identity, old)])


@check("DEV-PROV-17", "activating again with wrong credentials is answered 401 and changes nothing")
async def wrong_credentials(target: Target) -> None:
    wrong = {"token": (TOKEN, "0" * 40), "password": ("Authorization", "Basic !")}
    for auth in ("token", "password"):
        device = await target.activated(PRODUCTS[auth])
        client = target.client(PRODUCTS[auth])
        fields = {"id": device.identity, "password": PASSWORD}
        for headers in ([wrong[auth]], [basic(device.identity, OTHER_PASSWORD)]):
            expect.status(await activate(client, fields, headers), 401)
        await endpoints.expect_served(device)
    other = await target.activated("token-other")
    device = await target.activated("token-open")
    headers = [(TOKEN, other.token or "")]
    expect.status(await activate(target.client("token-open"), {"id": device.identity}, headers), 401)
    expect.status(await device_client.write(device, {"text": "hello"}), 204)


@check("DEV-PROV-18", "a provisioned identity is not activated without credentials, and keeps those it has")
async def no_credentials(target: Target) -> None:
    for device in await _token_and_password(target):
        for fields in _forms(device):
            response = await activate(target.client(PRODUCTS[device.auth]), fields)
            endpoints.expect_client_error(response)
            expect.true("there is no token", not FORTY.fullmatch(response.text), response.text, response)
        await endpoints.expect_served(device)
        client = target.client(PRODUCTS["password"])
        await endpoints.expect_refused(client, 401, headers=[basic(device.identity, PASSWORD)])


@check("DEV-PROV-19", "the refusal to activate a provisioned identity without credentials is 409")
async def no_credentials_is_409(target: Target) -> None:
    for device in await _token_and_password(target):
        for fields in _forms(device):
            expect.refusal(await activate(target.client(PRODUCTS[device.auth]), fields), 409)


@check("DEV-PROV-20", "404 for an unknown identity where self-registration is off")
async def unknown_identity(target: Target) -> None:
    for product in ("token-closed", "password-closed"):
        fields = {"id": target.identity(), "password": PASSWORD}
        expect.refusal(await activate(target.client(product), fields), 404)


@check("DEV-PROV-20", "404 for a vendor or a model that is not the product, and nothing is created")
async def other_vendor(target: Target) -> None:
    client, identity = target.client("token-open"), target.identity()
    for vendor, model in (("token-other", "token-open"), ("token-open", "token-other"), ("x", "x"), ("", "")):
        fields = {"vendor": vendor, "model": model, "sn": identity}
        expect.refusal(await activate(client, fields), 404)
    expect.status(await activate(client, {"id": identity}), 200)  # 409 if it had been created


@check("DEV-PROV-21", "403 for the identity of another device, and neither device changes")
async def identity_of_another(target: Target) -> None:
    for auth in ("token", "password"):
        one, other = await target.activated(PRODUCTS[auth]), await target.activated(PRODUCTS[auth])
        stranger = target.identity()
        for identity in (other.identity, stranger):
            expect.refusal(await activate(one, {"id": identity, "password": PASSWORD}), 403)
        await endpoints.expect_served(one)
        await endpoints.expect_served(other)
        await target.device(PRODUCTS[auth], stranger).activate()


@check("DEV-PROV-21", "403 where provisioning is switched off for the product")
async def provisioning_off(target: Target) -> None:
    client = target.client("token-off")
    for identity in (target.identity(), "allowed-000"):
        expect.refusal(await activate(client, {"id": identity}), 403)


@check("DEV-PROV-22", "400 for an identity that is missing, empty or unfit, or an id and sn that differ")
async def no_identity(target: Target) -> None:
    client, identity = target.client("token-open"), target.identity()
    differing = {"id": identity, "sn": f"{identity}x"}
    for fields in ({}, {"id": ""}, {"sn": ""}, differing, {"id": f"{identity}\n"}):
        expect.refusal(await activate(client, fields), 400)
    vendor = {"vendor": "token-open", "model": "token-open"}
    expect.refusal(await activate(client, vendor), 400)
    for each in (identity, f"{identity}x"):
        await target.device("token-open", each).activate()


@check("DEV-PROV-22", "400 for a password that is missing or short, and for an identity with a colon")
async def no_password(target: Target) -> None:
    client, identity = target.client("password-open"), target.identity()
    for password in ({}, {"password": ""}, {"password": "ü" * 19}):
        expect.refusal(await activate(client, {"id": identity, **password}), 400)
    expect.refusal(await activate(client, {"id": f"{identity}:x", "password": PASSWORD}), 400)
    await target.device("password-open", identity).activate()


@check("DEV-PROV-23", "sn alone, id with an equal sn, and a needless password are all good")
async def other_forms(target: Target) -> None:
    client = target.client("token-open")
    first, second, third, fourth, fifth = (target.identity() for _ in range(5))
    for fields in (
        {"sn": first},
        {"id": second, "sn": second},
        {"id": third, "password": "x"},
        {"id": fourth, "sn": ""},
        {"id": "", "sn": fifth},
    ):
        expect.body(expect.status(await activate(client, fields), 200), FORTY)
    for each in (fourth, fifth):
        expect.refusal(await activate(client, {"id": each}), 409)


@check("DEV-PROV-24", "valid credentials without an identity activate the device that they belong to")
async def identity_by_credentials(target: Target) -> None:
    holder = await target.activated("token-open")
    expect.status(await device_client.write(holder, {"text": "mine"}), 204)
    holder.token = expect.status(await activate(holder, {}), 200).text
    expect.equal(
        "what the device reads with the new token", await device_client.value(holder, "text"), "mine"
    )
    keeper = await target.activated("password-open")
    expect.status(await activate(keeper, {"password": PASSWORD}), 204)
    keeper.password = PASSWORD
    expect.status(await device_client.write(keeper, {"text": "mine"}), 204)


def digits(target: Target, count: int) -> str:
    """Return digits that no earlier run used, with high probability."""
    number = (
        int.from_bytes(target.identity().encode()) * 2654435761
    )  # spreads identities that differ only at the end
    return f"{number % 10**count:0{count}}"


async def _token_and_password(target: Target) -> list[VirtualDevice]:
    return [await target.activated(PRODUCTS[auth]) for auth in ("token", "password")]


def _forms(device: VirtualDevice) -> list[dict[str, str]]:
    """Return the forms by which a device, or an impostor, may activate."""
    product = PRODUCTS[device.auth]
    serial = {"vendor": product, "model": product, "sn": device.identity}
    return [{"id": device.identity, "password": PASSWORD}, {**serial, "password": PASSWORD}]


@model_check(
    "DEV-PROV-1 DEV-PROV-2 DEV-PROV-6 DEV-PROV-7 DEV-PROV-11 DEV-PROV-15 DEV-PROV-16 DEV-PROV-17 "
    "DEV-PROV-18 DEV-PROV-21 DEV-PROV-22 DEV-PROV-24 DEV-AUTH-1 DEV-AUTH-2 DEV-AUTH-3 DEV-AUTH-4 DEV-AUTH-5 "
    "DEV-AUTH-6 DEV-AUTH-7 DEV-AUTH-8 DEV-AUTH-9 DEV-AUTH-11 DEV-AUTH-12 DEV-CERT-1 DEV-CERT-4 DEV-CERT-8 "
    "DEV-CERT-10 DEV-TLS-1",
    "credentials of devices of six products that activate again and again, as a model has them",
)
def model() -> type[Game]:
    """Return the game of credentials."""
    from labkit.conformance.device.provisioning.credentials import Credentials

    return Credentials
