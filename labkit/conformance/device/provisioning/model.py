"""Reference model of credentials: the provisioned devices of each product, and their credentials."""

from __future__ import annotations

from dataclasses import dataclass, field

SHORTEST = 20  # characters of a password

Status = frozenset[int]
CLIENT_ERROR: Status = frozenset(range(400, 500))


@dataclass(slots=True)
class ProvisionedDevice:
    """A device. current: its token or password; old: its former ones."""

    current: str | None = None
    old: list[str] = field(default_factory=list)
    value: str | None = None  # the value that it wrote last

    def set_current(self, secret: str) -> None:
        """Set the current credential; the former one becomes old."""
        if self.current is not None:
            self.old.append(self.current)
        self.current = secret


@dataclass(frozen=True, slots=True)
class Verdict:
    """The expected answer to an activation: allowed statuses, the rule that demands it, and the device that gets a
    credential.
    """

    statuses: Status
    rule: str
    device: str | None = None


@dataclass(slots=True)
class Product:
    """A product with its devices by identity. allowed: identities that may register where self-registration is off."""

    id: str
    auth: str
    open: bool
    devices: dict[str, ProvisionedDevice] = field(default_factory=dict)
    allowed: set[str] = field(default_factory=set)

    def device(self, identity: str) -> ProvisionedDevice:
        """Return the device with this identity, which may have no credential yet."""
        return self.devices.setdefault(identity, ProvisionedDevice())

    def owner(self, shown: str | None, identity: str) -> str | None:
        """Return the identity that a credential authenticates: a password together with an identity, a token alone."""
        if shown is None:
            return None
        if self.auth == "password":
            return identity if self.device(identity).current == shown else None
        return next((each for each, device in self.devices.items() if device.current == shown), None)

    def activate(
        self, identity: str, by: str, shown: str | None, *, named: bool, password: str | None
    ) -> Verdict:
        """Return the expected answer. identity: in the body, if `named`; by, shown: the credential; password: the new
        one.
        """
        success = frozenset([204 if self.auth == "password" else 200])
        short = self.auth == "password" and (password is None or len(password) < SHORTEST)
        unnamed = not named and shown is None
        owner = self.owner(shown, by)
        target = identity if named else owner
        known = self.open or identity in self.allowed
        if shown is not None and owner is None:
            others = short or unnamed
            return Verdict(CLIENT_ERROR if others else frozenset([401]), "DEV-PROV-17")
        if short or unnamed:
            alone = known and owner in (None, target) and (owner or not self.device(identity).current)
            return Verdict(
                frozenset([400]) if alone else CLIENT_ERROR, "DEV-PROV-7" if short else "DEV-PROV-22"
            )
        if owner is not None and owner != target:
            return Verdict(frozenset([403]), "DEV-PROV-21")
        if owner is not None:
            rule = "DEV-PROV-24" if not named else "DEV-PROV-16" if self.auth == "password" else "DEV-PROV-15"
            return Verdict(success, rule, target)
        if not known:
            return Verdict(frozenset([404]), "DEV-PROV-11")
        if self.device(identity).current is not None:
            return Verdict(frozenset([409]), "DEV-PROV-18")
        rule = "DEV-PROV-6" if self.auth == "password" else "DEV-PROV-1"
        return Verdict(success, rule if self.open else "DEV-PROV-11", identity)


@dataclass(slots=True)
class Certificates:
    """A certificate product. current: each identity's certificate, as a number; old: the numbers of its former ones."""

    current: dict[str, int] = field(default_factory=dict)
    old: dict[str, set[int]] = field(default_factory=dict)

    def connect(self, identity: str, number: int) -> tuple[bool, str]:
        """Return whether the connection is served, and by which rule. The first certificate of an identity is
        provisioned.
        """
        if identity not in self.current:
            self.current[identity] = number
            return True, "DEV-CERT-1"
        if self.current[identity] == number:
            return True, "DEV-AUTH-3"
        return False, "DEV-CERT-4" if number in self.old.get(identity, ()) else "DEV-CERT-8"

    def replace(self, identity: str, number: int) -> None:
        """Make another certificate the current one of an identity."""
        self.old.setdefault(identity, set()).add(self.current[identity])
        self.current[identity] = number
