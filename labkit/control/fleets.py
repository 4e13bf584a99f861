"""What a fleet of virtual devices needs done to a lab."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding

from labkit.core.certificates import KeyPair, client_certificate
from labkit.core.errors import LabError
from labkit.devices.identities import identity_error
from labkit.devices.registry import fingerprint, password_digest
from labkit.fleet.accounts import ALIAS
from labkit.fleet.cluster import ClusterPlay
from labkit.fleet.device import Credentials
from labkit.fleet.live import Live
from labkit.fleet.pace import Pace
from labkit.fleet.play import Plan, Play
from labkit.fleet.simulated import Simulated
from labkit.platform import Platform
from labkit.settings import SolutionSettings


class FleetsControl:
    """Provisions devices by the thousand, and plays them on the lab's own loop."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def provision(self, product: str, identities: Sequence[str]) -> list[Credentials]:
        """Whitelist identities and hand out credentials of the product's kind, which replace those that they had.

        Raises LabError for an unknown product, and for an identity that the product does not take.
        """
        settings = self._platform.devices.products.get(product).settings
        for identity in identities:
            if wrong := identity_error(settings.identity_format, identity):
                raise LabError(f"{identity!r}: {wrong}; say prefix=… or identities=…")
        if settings.auth == "certificate":
            made = await asyncio.to_thread(_certificates, identities)
        else:
            made = [self._secret(product, settings.auth, identity) for identity in identities]
        given = zip(identities, made, strict=True)
        await self._platform.devices.registry.hand_out(product, {name: _proof(each) for name, each in given})
        return made

    async def prepare(self, plan: Plan) -> Play:
        """A run of a fleet in this process: on a virtual clock one device at a time, else side by side."""
        return Play(plan, self._pace(plan.seed))

    async def spread(self, plan: Plan, client: Any, shares: int, close: Callable[[], object]) -> ClusterPlay:
        """A run of a fleet on the workers of a dask cluster, which `client` is one of."""
        return ClusterPlay(plan, self._platform.context.clock, client, shares, close)

    async def account(self, product: str, handled: Callable[[str, object], object]) -> None:
        """Tell `handled` of each number that counting devices write (identity, value), as a handler gets it.

        The handler belongs to a solution of its own, `accounts-<product>`, so that no other is touched; it takes the
        place of the one before.
        """
        id = f"accounts-{product}"
        if id not in self._platform.context.solutions:
            await self._platform.solutions.add(SolutionSettings(id=id, products=(product,)))

        async def datapoint(data: Mapping[str, Any]) -> None:
            if data["alias"] == ALIAS:
                handled(data["device_sn"], data["value"][1])

        self._platform.solutions.get(id).on("device", "datapoint", datapoint)

    async def play(self, play: Play | ClusterPlay, seconds: float | None) -> None:
        """Let the devices live for so long, on lab time; None: until `Play.stop`.

        On a virtual clock nobody else moves it meanwhile. Raises LabError there where no time is given, and where
        another run is under way.
        """
        clock = self._platform.context.clock
        until = None if seconds is None else clock.now() + seconds
        if clock.rate:
            await play.run(until)
            return
        if until is None:
            raise LabError("this clock stands still: say for how long, as in run(days=1)")
        with clock.drive("the run of a fleet"):
            await play.run(until)
        if isinstance(play, Play) and play.reached:
            await clock.advance_to(until)

    def _pace(self, seed: int) -> Pace:
        context = self._platform.context
        if context.clock.rate:
            return Live(context.clock)
        return Simulated(context.clock, context.holding, self._platform.settle, seed)

    def _secret(self, product: str, auth: str, identity: str) -> Credentials:
        identifiers = self._platform.context.identifiers
        if auth == "token":
            return Credentials(token=identifiers.hex(f"token/{product}/{identity}", 40))
        return Credentials(password=identifiers.alphanumeric(f"password/{product}/{identity}", 24))


def _certificates(identities: Sequence[str]) -> list[Credentials]:
    return [Credentials(certificate=KeyPair.from_pem(*client_certificate(each))) for each in identities]


def _proof(credentials: Credentials) -> tuple[bytes, bytes | None]:
    """Digest and salt, as the registry keeps them."""
    if credentials.token is not None:
        return fingerprint(credentials.token), None
    if credentials.password is not None:
        salt = secrets.token_bytes(16)
        return password_digest(credentials.password, salt), salt
    assert credentials.certificate is not None
    return fingerprint(credentials.certificate.certificate.public_bytes(Encoding.DER)), None
