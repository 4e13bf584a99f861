"""Playing the model of credentials: the same identities in four products."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from labkit.conformance.device.provisioning.model import Holder, Product, Verdict
from labkit.conformance.device_client import ALIAS
from labkit.conformance.models.rules import Rules
from labkit.conformance.target import Target
from labkit.fleet.device import FORM

if TYPE_CHECKING:
    import httpx

OPEN, OTHER, PASSWORD, CLOSED = range(4)
Headers = list[tuple[str, str]]


class Credentials:
    """One game: devices of four products, some of which share their identities."""

    default = "DEV-PROV-5"

    def __init__(self, target: Target, rules: Rules) -> None:
        self._target = target
        self._rules = rules
        name = target.identity()
        self._identities = [name, name.upper(), f"{name} é%&+", f"{name}."]
        self.products = [
            Product("token-open", "token", True),
            Product("token-other", "token", True),
            Product("password-open", "password", True),
            Product("token-closed", "token", False),
        ]
        self._count = 0
        self._lost = False

    async def begin(self) -> None:
        """Nothing: devices come about as they activate."""

    async def end(self) -> None:
        """Every credential that is valid is served, and the last old one of each device is not."""
        for index, product in enumerate(self.products):
            for number, identity in enumerate(self._identities):
                if product.device(identity).current is not None:
                    await self.use(index, number, "current")
                if product.device(identity).old:
                    await self.use(index, number, "old")

    async def close(self) -> None:
        """Nothing is under way."""

    async def play(self, command: Any) -> None:
        if not self._lost:
            await command(self)

    # ---- what commands do

    async def activate(
        self, index: int, number: int, shows: str, form: str, password: str, other: int
    ) -> None:
        """Activate. shows: which credential; form: how the body names the device; other: whose credential it is."""
        product, identity = self.products[index], self._identities[number]
        by = self._identities[other] if shows == "other" else identity
        shown = self._shown(product, by, shows)
        if shown is None and shows != "none":
            return
        secret = password if product.auth == "password" else None
        wanted = product.activate(identity, by, shown, named=form != "unnamed", password=secret)
        response = await self._activate(product, identity, by, shown, form, secret)
        self._judge(product, wanted, response, secret)

    async def both(self, index: int, number: int, passwords: tuple[str, str]) -> None:
        """Activate twice at the same time, without credentials: one of them gets it."""
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
                product.device(identity).give(secret or response.text)

    async def use(self, index: int, number: int, shows: str) -> None:
        """Write and read by a credential, current or not, of this product or another."""
        product, identity = self.products[index], self._identities[number]
        device = product.device(identity)
        secret = self._shown(product, identity, shows)
        if secret is None and shows != "none":
            return
        self._count += 1
        value = f"{number} of {index}: {self._count}"
        headers = self._headers(product, identity, secret)
        client = self._target.shared_client(product.id)
        path = f"{ALIAS}?text"
        response = await client.request(
            "POST", path, content=urlencode({"text": value}), headers=[*headers, ("Content-Type", FORM)]
        )
        good = shows == "current"
        rule = {"current": "DEV-PROV-5", "old": "DEV-PROV-15", "abroad": "DEV-TLS-1", "none": "DEV-AUTH-4"}
        ours = rule.get(shows, "DEV-AUTH-5")
        ours = "DEV-PROV-16" if shows == "old" and product.auth == "password" else ours
        if not self._rules.holds(ours, "status", response.status_code, 200 if good else 401, response):
            self._lost = True
            return
        if good:
            device.value = value
            wanted = f"text={quote(value, safe='')}"
            self._rules.holds("DEV-AUTH-1", "what is read", response.text, wanted, response)

    async def read(self, index: int, number: int) -> None:
        """What a device reads is what it wrote itself."""
        product, identity = self.products[index], self._identities[number]
        device = product.device(identity)
        if device.current is None:
            return
        client = self._target.shared_client(product.id)
        headers = self._headers(product, identity, device.current)
        response = await client.request("GET", f"{ALIAS}?text", headers=headers)
        wanted = "" if device.value is None else f"text={quote(device.value, safe='')}"
        self._rules.holds("DEV-AUTH-7", "what is read", response.text, wanted, response)

    # ---- comparing

    def _judge(self, product: Product, wanted: Verdict, response: httpx.Response, secret: str | None) -> None:
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
            device.give(secret or response.text)

    def _all(self) -> set[str | None]:
        devices = [device for product in self.products for device in product.devices.values()]
        return {secret for each in devices for secret in (*each.old, each.current)}

    def _shown(self, product: Product, identity: str, shows: str) -> str | None:
        """The credential that is shown; None where there is none of this kind."""
        device = product.device(identity)
        current = device.current
        if shows in ("current", "other"):
            return current
        if shows == "old":  # one that is the current one again is not old
            return next((each for each in reversed(device.old) if each != current), None)
        if shows == "abroad":
            return self._abroad(product, identity, device)
        if shows == "wrong":
            return "0" * 40
        if shows == "cut":
            return None if current is None else current[:-1]
        if shows == "case":
            changed = None if current is None else current.swapcase()
            return None if changed == current else changed
        return None

    def _abroad(self, product: Product, identity: str, device: Holder) -> str | None:
        """The credential of the device of the same name in another product of this type."""
        others = [each for each in self.products if each.auth == product.auth and each is not product]
        found = [each.device(identity).current for each in others]
        return next((each for each in found if each not in (None, device.current)), None)

    # ---- requests

    async def _activate(
        self, product: Product, identity: str, by: str, shown: str | None, form: str, password: str | None
    ) -> httpx.Response:
        if form == "vendor" and product.auth == "token":
            fields = {"vendor": product.id, "model": product.id, "sn": identity}
        else:
            fields = {} if form == "unnamed" else {"id": identity}
        if password is not None:
            fields["password"] = password
        headers = [*self._headers(product, by, shown), ("Content-Type", FORM)]
        client = self._target.shared_client(product.id)
        return await client.request("POST", "/provision/activate", content=urlencode(fields), headers=headers)

    def _headers(self, product: Product, identity: str, secret: str | None) -> Headers:
        if secret is None:
            return []
        if product.auth == "token":
            return [("X-Platform-CIK", secret)]
        pair = base64.b64encode(f"{identity}:{secret}".encode()).decode()
        return [("Authorization", f"Basic {pair}")]
