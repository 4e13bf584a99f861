"""Credentials created in advance, concurrent activations of one device, and unusual identities."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, endpoints, expect
from labkit.conformance.check import check
from labkit.conformance.device.authentication.checks import TOKEN, basic
from labkit.conformance.endpoints import PRODUCTS, READ, activate
from labkit.conformance.target import Target
from labkit.core.errors import LabkitError
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.device import Credentials, DeviceError, VirtualDevice
from labkit.fleet.flow import FlowClient

if TYPE_CHECKING:
    from labkit.lab.product import Product

AT_ONCE = 8
# Identities that fit and do not fit: not in every alphabet do small letters come after capital ones, as in ASCII.
CASING = {
    "upper": (
        ("ÄÖ \N{LATIN CAPITAL LETTER Y WITH DIAERESIS}-1", "ABC", "漢"),
        ("ÿ", "ä", "\N{MICRO SIGN}", "ABc"),
    ),
    "lower": (("äö ÿ-1", "abc", "漢"), ("Ä", "\N{OHM SIGN}", "abC")),
}
TYPES = ("token", "password", "certificate")


class Writer(Behaviour):
    """A behaviour that writes once."""

    text: str = ""

    async def run(self, device: Any) -> None:
        await device.write(text=self.text)


@check("DEV-PROV-15 DEV-PROV-16", "one of several clients that activate again at once gets new credentials")
async def at_once(target: Target) -> None:
    for type in ("token", "password"):
        device = await target.activated(PRODUCTS[type])
        expect.status(await device_client.write(device, {"text": "before"}), 204)
        token, password = device.token or "", device.password or ""
        headers = [(TOKEN, token) if type == "token" else basic(device.identity, password)]
        clients = [target.client(PRODUCTS[type]) for _ in range(AT_ONCE)]
        for client in clients:  # to connect them all
            expect.status(await READ.send_from(client, headers), 200)
        fields = [
            {"id": device.identity, "password": f"a new password, of client {each}"}
            for each in range(AT_ONCE)
        ]
        asked = (activate(client, each, headers) for client, each in zip(clients, fields, strict=True))
        answers = await asyncio.gather(*asked)
        given = [number for number, each in enumerate(answers) if each.status_code in (200, 204)]
        expect.equal("how many were given credentials", len(given), 1, answers[0])
        for number, each in enumerate(answers):
            expect.status(each, *((200, 204) if number in given else (401,)))
        new = (
            (TOKEN, answers[given[0]].text)
            if type == "token"
            else basic(device.identity, fields[given[0]]["password"])
        )
        expect.status(await READ.send_from(clients[0], [new]), 200)
        expect.status(await READ.send_from(clients[0], headers), 401)


@check("DEV-PROV-25", "a token that is set with a whitelisted identity", needs={"settings"})
async def token_in_advance(target: Target) -> None:
    products = [await target.in_lab(target.lab.product, each) for each in ("token-closed", "token-open")]
    await target.in_lab(_token_in_advance, target.identity(), target.identity(), products)


def _token_in_advance(name: str, other: str, products: list[Product]) -> None:
    product, namesake = products
    tokens = [name.ljust(40, each) for each in "ab"]
    for token in tokens:  # the second one replaces the first
        product.allow(name, token=token)
        device = product.device(name).use(Credentials(token=token))
        device.write(text=token)
        expect.equal("what it reads", device.read("text"), {"text": token})
    for of, token in ((product, tokens[0]), (namesake, tokens[1])):
        response = of.device(name).use(Credentials(token=token)).request("GET", READ.path)
        expect.equal("status with a token that is not its own", response.status_code, 401, response)
    for identities, token in (
        ([other], tokens[1]),
        ([name, other], name.ljust(40, "c")),
        ([other], name.ljust(39, "c")),
        ([other], name.ljust(41, "c")),
    ):
        try:
            product.allow(identities, token=token)
            refused = False
        except LabkitError:
            refused = True
        expect.equal(f"is the token refused for {identities}?", refused, True)
    product.allow(name, other)  # this leaves the token unchanged
    response = product.device(name).use(Credentials(token=tokens[1])).request("GET", READ.path)
    expect.equal("status with the token", response.status_code, 200, response)


@check("DEV-PROV-25", "credentials that a fleet sets for its devices", needs={"settings", "clock"})
async def handed_out(target: Target) -> None:
    for type in TYPES:
        await _handed_out(target, type)


async def _handed_out(target: Target, type: Any) -> None:
    id, heard = target.identity(), list[tuple[str, str]]()
    product = await target.in_lab(_product, target, type, id, heard)
    # a fleet accepts no device that a handle of the lab uses
    client = FlowClient(target.address, product.domain)
    device = VirtualDevice(target.address, product.domain, type, "d-1", target.password, client)
    try:
        await device.activate()
        held, other = (asyncio.create_task(device.poll(each, 300)) for each in ("text", "other"))
        await target.in_lab(_wait, product)
        await device.write({"other": "answers one of the two"})
        expect.equal("the other poll's value", getattr(await other, "value", None), "answers one of the two")
        await target.settle()
        heard.clear()
        await target.in_lab(_replaced, product, heard)
        try:
            answered: object = await held
        except DeviceError as error:
            answered = error.status
        expect.equal("the answer to a poll that was held before", answered, 401)
        response = await device.request("GET", READ.path)
        expect.equal("status with the credentials of before", response.status_code, 401, response)
    finally:
        await device.close()


def _product(target: Target, type: Any, id: str, heard: list[tuple[str, str]]) -> Product:
    product = target.lab.product(
        id,
        auth=type,
        resources={"text": "string", "other": "string"},
        self_registration=False,
        identities=["d-1"],
    )
    target.lab.solution(id, products=[product]).on(
        "device", "datapoint", lambda data: heard.append((data["device_sn"], data["value"][1]))
    )
    return product


def _wait(product: Product) -> None:
    for alias in ("text", "other"):
        product.held("d-1", alias).result()


def _replaced(product: Product, heard: list[tuple[str, str]]) -> None:
    for text in ("first", "second"):  # new credentials replace the former ones
        product.fleet(2, Writer(text=text), identities=["d-1", "ü %"]).run(5)
        expect.equal("what is heard of the fleet", sorted(heard), [("d-1", text), ("ü %", text)])
        heard.clear()


@check(
    "DEV-PROV-26",
    "a product with wrong settings is not created, and blocks neither its id nor a domain",
    needs={"settings"},
)
async def refused_products(target: Target) -> None:
    await target.in_lab(_refused_products, target)


def _refused_products(target: Target) -> None:
    lab, id = target.lab, target.identity()
    taken = lab.product("token-open").domain
    wrong: tuple[dict[str, Any], ...] = (
        {"content": [{"file": "/nowhere/of/all.txt"}]},
        {"domain": taken},
        {"resources": {"text": "texts"}},
        {"auth": "nothing"},
    )
    for settings in wrong:
        try:
            lab.product(id, **settings)
            refused = False
        except LabkitError:
            refused = True
        expect.equal(f"is a product with {settings} refused?", refused, True)
    product = lab.product(id, resources={"text": "string"})
    device = product.device("d-1").activate()
    device.write(text="a")
    expect.equal("what its device reads", device.read("text"), {"text": "a"})
    response = lab.product("token-open").device(id).request("GET", "/timestamp", credentials=False)
    expect.equal("status at the product whose domain it was", response.status_code, 200, response)


@check("DEV-PROV-9", "small and capital letters of other alphabets than ASCII's", needs={"settings"})
async def casing(target: Target) -> None:
    for kind, (fits, unfit) in CASING.items():
        settings = {"type": "opaque", "casing": kind}
        product: Product = await target.in_lab(
            target.lab.product, target.identity(), identity_format=settings
        )
        for status, identities in ((200, fits), (400, unfit)):
            for identity in identities:
                device = await target.in_lab(product.device, identity)
                response = await target.in_lab(
                    device.request, "POST", endpoints.ACTIVATE, credentials=False, data={"id": identity}
                )
                expect.equal(f"status for {identity} where casing is {kind}", response.status_code, status)
