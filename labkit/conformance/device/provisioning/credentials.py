"""Driver of the credentials model: the same identities in six products."""

from __future__ import annotations

import asyncio
import base64
import unicodedata
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, urlencode

from labkit.conformance.connection_pool import Exchange
from labkit.conformance.device.provisioning.model import Certificates, Product, ProvisionedDevice, Verdict
from labkit.conformance.device_client import ALIAS
from labkit.conformance.endpoints import key_pair
from labkit.conformance.models.commands import Commands, together
from labkit.conformance.models.game import Game
from labkit.conformance.models.rules import Rules
from labkit.conformance.target import Target
from labkit.core.certificates import KeyPair
from labkit.fleet.device import FORM, PEM
from labkit.fleet.flow import FlowClient

if TYPE_CHECKING:
    import httpx

OPEN, OTHER, PASSWORD, CLOSED, ALLOWED = range(5)
CERTIFICATE = "certificate-open"
ACTIVATE = "/provision/activate"
FIRST = f"First é {'p' * 80} "  # to truncate, strip, fold or compose it makes a difference
Headers = list[tuple[str, str]]
Response: TypeAlias = "httpx.Response | Exchange"

PASSWORDS = (
    FIRST,
    "p" * 20,
    "P" * 20,
    "p" * 19,
    "é" * 20,
    "e\u0301" * 20,  # it looks the same, but has other bytes
    "é" * 19,  # 38 bytes
    "p" * 100 + "a",
    "p" * 100 + "b",
    ":%&+= é😀" * 3,
    " " + "p" * 20,
    "p" * 20 + " ",
    "",
)
GOOD = [each for each in PASSWORDS if len(each) >= 20]
SHORT = [each for each in PASSWORDS if len(each) < 20]
SHOWN = "none none current current other other mine mine abroad old wrong case cut longer".split()
PRODUCTS = (OPEN, OPEN, OTHER, PASSWORD, PASSWORD, PASSWORD, CLOSED, ALLOWED)
DEVICES = (0, 0, 0, 1, 1, 2, 3)
USES = "current current current old old abroad case cut longer composed last none wrong".split()
CARRIERS = (*["usual"] * 6, "word", "wrong type", "two", "twice", "empty", "empty beside")

activating = Commands(
    index=PRODUCTS, number=DEVICES, shows=["none"], form=["id"], password=GOOD, other=DEVICES
)
using = Commands(index=PRODUCTS, number=DEVICES, shows=USES, carrier=CARRIERS, other=[None])
using_first = Commands(index=(OPEN, PASSWORD), number=[0], shows=["current"], carrier=["usual"], other=[None])
command = Commands(index=PRODUCTS, number=DEVICES)
of_certificates = Commands(number=range(2), certificate=range(2), other=range(2), new=range(2))


class Credentials(Game):
    """One run of the model: devices of six products, some of which share their identities."""

    default = "DEV-AUTH-1"

    def __init__(self, target: Target, rules: Rules) -> None:
        super().__init__(target, rules)
        name = target.identity()
        self._identities = [name, name.upper(), f"{name} é%&+", f"{name}."]
        self.products = [
            Product("token-open", "token", True),
            Product("token-other", "token", True),
            Product("password-open", "password", True),
            Product("token-closed", "token", False),
            Product("password-closed", "password", False),
        ]
        self.certificates = Certificates()
        self._pairs: dict[tuple[int, int], KeyPair] = {}
        self._clients: dict[tuple[int, int], FlowClient] = {}
        self._count = 0
        self._lost = False

    async def begin(self) -> None:
        """Activate some devices; in a lab in this process, also whitelist one where self-registration is off."""
        if "settings" in self._target.offers:
            for index in (CLOSED, ALLOWED):
                product = self.products[index]
                handle = await self._target.handle(product.id)
                await self._target.in_lab(handle.allow, self._identities[0])
                product.allowed.add(self._identities[0])
        for index, number in ((OPEN, 0), (OPEN, 1), (OTHER, 0), (PASSWORD, 0), (PASSWORD, 1)):
            await self.activate(index, number, "none", "id", FIRST, 0)

    async def end(self) -> None:
        """Check that each valid credential is served, each device's last old one is refused, and values are
        unchanged.
        """
        for index, product in enumerate(self.products):
            for number, identity in enumerate(self._identities):
                await self.read(index, number)
                if product.device(identity).old:
                    await self.use(index, number, "old", None, "usual")

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    async def play(self, command: Any) -> None:
        if not self._lost:
            await super().play(command)

    # ---- what commands do

    @activating(index=(CLOSED, ALLOWED), number=range(1, 4))
    @activating(  # by devices that have credentials
        index=(OPEN, PASSWORD),
        number=(0, 1),
        shows=("other", "other", "current", "none", "abroad"),
        form=("id", "unnamed"),
        other=(0, 1),
    )
    @activating(index=[PASSWORD], shows=("none", "current"), password=SHORT)
    @activating(shows=SHOWN, form=("id", "id", "vendor", "unnamed"), password=PASSWORDS)
    @activating(shows=["current"])
    @activating()
    async def activate(
        self, index: int, number: int, shows: str, form: str, password: str, other: int
    ) -> None:
        """Activate. shows: the kind of credential; form: how the body names the device; other: the device that sends
        it.
        """
        product, identity = self.products[index], self._identities[number]
        by = self._identities[other] if shows in ("other", "mine") else identity
        shown = self._shown(product, by if shows == "other" else identity, shows)
        if shown is None and shows != "none":
            return
        secret = password if product.auth == "password" else None
        wanted = product.activate(identity, by, shown, named=form != "unnamed", password=secret)
        response = await self._activate(product, identity, by, shown, form, secret)
        self._judge(product, wanted, response, secret)

    @command(passwords=together(GOOD, GOOD))
    async def both(self, index: int, number: int, passwords: tuple[str, str]) -> None:
        """Activate twice concurrently, without credentials; one must succeed."""
        product, identity = self.products[index], self._identities[number]
        if product.device(identity).current is not None or not product.open:
            return
        secrets = passwords if product.auth == "password" else (None, None)
        found = await asyncio.gather(
            *(self._activate(product, identity, identity, None, "id", each) for each in secrets)
        )
        success = 204 if product.auth == "password" else 200
        seen = sorted(each.status_code for each in found)
        if not self._rules.holds("DEV-PROV-18", "statuses", seen, [success, 409], found[0]):
            self._lost = True
            return
        for response, secret in zip(found, secrets, strict=True):
            if response.status_code == success:
                product.device(identity).set_current(secret or response.text)

    @using_first(index=(OPEN, OTHER), shows=["abroad"])
    @using_first(shows=["old"])
    @using_first(carrier=("word", "wrong type", "two", "twice", "empty beside"))
    @using_first(shows=("cut", "longer", "case", "composed"))
    @using()
    @using(other=DEVICES)
    async def use(self, index: int, number: int, shows: str, other: int | None, carrier: str) -> None:
        """Write with a credential, current or not, of this product or another. other: whose identity, by default its
        own; carrier: the headers.
        """
        product, identity = self.products[index], self._identities[number]
        by = identity if other is None else self._identities[other]
        secret = self._shown(product, identity, shows)
        if secret is None and shows != "none":
            return
        self._count += 1
        value = f"{number} of {index}: {self._count}"
        headers, status = self._carried(product, by, secret, carrier)
        owner = product.owner(secret, by) if status is None else None
        response = await self._write(product, value, headers)
        rule = self._rule(product, shows, carrier, owner)
        wanted = status or (401 if owner is None else 204)
        seen = response.status_code
        if wanted == 400 and 400 <= seen < 500:  # the exact status is tested by another rule
            self._rules.holds("DEV-AUTH-9", "status", seen, 400, response)
            seen = 400
        if not self._rules.holds(rule, "status", seen, wanted, response):
            self._lost = True
        elif owner is not None:
            product.device(owner).value = value

    @command()
    async def read(self, index: int, number: int) -> None:
        """Read a device's value, which must be the one that it wrote itself."""
        product, identity = self.products[index], self._identities[number]
        device = product.device(identity)
        if device.current is None:
            return
        headers = self._headers(product, identity, device.current)
        response = await self._ask(product, "GET", f"{ALIAS}?text", headers)
        wanted = "" if device.value is None else f"text={quote(device.value, safe='')}"
        self._rules.holds("DEV-AUTH-7", "what is read", response.text, wanted, response)

    @of_certificates()
    async def connect(self, number: int, certificate: int) -> None:
        """Write on a connection that presents one of the certificates with the name of a device."""
        identity = self._identities[number]
        wanted, rule = self.certificates.connect(identity, certificate)
        client = self._client(number, certificate)
        response = await client.request("POST", ALIAS, content="text=x", headers={"Content-Type": FORM})
        if not self._rules.holds(rule, "status", response.status_code, 204 if wanted else 401, response):
            self._lost = True

    @of_certificates()
    async def replace(self, number: int, certificate: int, other: int, new: int) -> None:
        """Replace a device's certificate by another, with its own name or another device's."""
        identity = self._identities[number]
        served, rule = self.certificates.connect(identity, certificate)
        client = self._client(number, certificate)
        pem = self._pair(other, new).certificate_pem
        response = await client.request("POST", ACTIVATE, content=pem, headers={"Content-Type": PEM})
        wanted = 401 if not served else 204 if other == number else 400
        rule = "DEV-CERT-4" if wanted == 204 else "DEV-CERT-10" if wanted == 400 else rule
        if not self._rules.holds(rule, "status", response.status_code, wanted, response):
            self._lost = True
        elif wanted == 204 and new != certificate:
            self.certificates.replace(identity, new)

    # ---- comparing

    def _judge(self, product: Product, wanted: Verdict, response: Response, secret: str | None) -> None:
        right = response.status_code in wanted.statuses
        statuses = " or ".join(map(str, sorted(wanted.statuses))) if len(wanted.statuses) < 5 else "4xx"
        seen = statuses if right else str(response.status_code)
        if not self._rules.holds(wanted.rule, "status of activate", seen, statuses, response):
            self._lost = True
        elif wanted.device is not None:
            device = product.device(wanted.device)
            if product.auth == "token":
                fresh = len(response.text) == 40 and response.text not in self._all()
                self._rules.holds("DEV-PROV-2", "a new token of 40 characters", fresh, True, response)
            device.set_current(secret or response.text)

    def _rule(self, product: Product, shows: str, carrier: str, owner: str | None) -> str:
        """Return the rule that the answer to a credential must follow."""
        if carrier in ("two", "twice"):
            return "DEV-AUTH-8"
        if carrier == "wrong type":
            return "DEV-AUTH-6"
        if carrier in ("empty", "empty beside"):
            return "DEV-AUTH-12"
        if owner is not None:
            own = "DEV-AUTH-2" if product.auth == "password" else "DEV-AUTH-1"
            return "DEV-AUTH-11" if carrier == "word" and product.auth == "token" else own
        if shows == "old":
            return "DEV-PROV-16" if product.auth == "password" else "DEV-PROV-15"
        return {"abroad": "DEV-TLS-1", "none": "DEV-AUTH-4"}.get(shows, "DEV-AUTH-5")

    def _all(self) -> set[str | None]:
        devices = [device for product in self.products for device in product.devices.values()]
        return {secret for each in devices for secret in (*each.old, each.current)}

    def _shown(self, product: Product, identity: str, shows: str) -> str | None:
        """Return the credential of this kind; None if there is none."""
        device = product.device(identity)
        current = device.current
        if shows in ("current", "other", "mine"):
            return current
        if shows == "old":  # a secret that is current again is not old
            return next((each for each in reversed(device.old) if each != current), None)
        if shows == "abroad":
            return self._namesake_credential(product, identity, device)
        if shows == "wrong":
            return "0" * 40
        if current is None:
            return None
        changed = {
            "cut": current[:-1],
            "longer": f"{current}0",
            "case": current.swapcase(),
            "composed": unicodedata.normalize("NFD", current),
            "last": current[:-1] + ("0" if current[-1] != "0" else "1"),
        }.get(shows)
        return None if changed == current else changed

    def _namesake_credential(self, product: Product, identity: str, device: ProvisionedDevice) -> str | None:
        """Return the credential of the device with the same name in another product of this type."""
        others = [each for each in self.products if each.auth == product.auth and each is not product]
        found = [each.device(identity).current for each in others]
        return next((each for each in found if each not in (None, device.current)), None)

    # ---- requests

    async def _ask(
        self, product: Product, method: str, path: str, headers: Headers, body: str = ""
    ) -> Response:
        """Send a request by the pool, which is cheaper, unless a header name occurs twice."""
        named = dict(headers)
        if len(named) == len(headers):
            return await self._target.pool(product.id).request(method, path, headers=named, content=body)
        client = self._target.shared_client(product.id)
        return await client.request(method, path, headers=headers, content=body)

    async def _write(self, product: Product, value: str, headers: Headers) -> Response:
        body = urlencode({"text": value})
        return await self._ask(product, "POST", ALIAS, [*headers, ("Content-Type", FORM)], body)

    async def _activate(
        self, product: Product, identity: str, by: str, shown: str | None, form: str, password: str | None
    ) -> Response:
        if form == "vendor" and product.auth == "token":
            fields = {"vendor": product.id, "model": product.id, "sn": identity}
        else:
            fields = {} if form == "unnamed" else {"id": identity}
        if password is not None:
            fields["password"] = password
        headers = [*self._headers(product, by, shown), ("Content-Type", FORM)]
        return await self._ask(product, "POST", ACTIVATE, headers, urlencode(fields))

    def _headers(self, product: Product, identity: str, secret: str | None) -> Headers:
        if secret is None:
            return []
        return [as_token(secret) if product.auth == "token" else as_password(identity, secret)]

    def _carried(
        self, product: Product, by: str, secret: str | None, carrier: str
    ) -> tuple[Headers, int | None]:
        """Return the headers that carry a credential, and the status if the way of sending alone decides it."""
        usual = self._headers(product, by, secret)
        token = product.auth == "token"
        empty = ("Authorization", "") if token else ("X-Platform-CIK", "")
        if secret is None:
            return ([("X-Platform-CIK" if token else "Authorization", "")] if carrier == "empty" else []), 401
        if carrier == "two":
            return [*usual, as_password(by, secret) if token else as_token("0" * 40)], 400
        if carrier == "twice":
            return [*usual, *usual], 400
        if carrier == "wrong type":
            return [as_password(by, secret) if token else as_token(sendable(secret))], 401
        if carrier == "empty beside":
            return [*usual, empty], None
        if carrier == "word" and token:
            return [("authorization", f"ToKen {secret}")], None
        return usual, None

    def _pair(self, number: int, certificate: int) -> KeyPair:
        found = self._pairs.get((number, certificate))
        if found is None:
            found = self._pairs[number, certificate] = key_pair(self._identities[number])
        return found

    def _client(self, number: int, certificate: int) -> FlowClient:
        found = self._clients.get((number, certificate))
        if found is None:
            domain = self._target.product(CERTIFICATE).domain
            found = FlowClient(self._target.address, domain, self._pair(number, certificate))
            self._clients[number, certificate] = found
        return found


def as_token(secret: str) -> tuple[str, str]:
    """Return the header of a token."""
    return "X-Platform-CIK", secret


def as_password(identity: str, secret: str) -> tuple[str, str]:
    """Return the header of Basic authorization."""
    pair = base64.b64encode(f"{identity}:{secret}".encode()).decode()
    return "Authorization", f"Basic {pair}"


def sendable(secret: str) -> str:
    """Return the characters of a secret that a header may contain."""
    return "".join(each for each in secret if "!" <= each <= "~") or "x"
