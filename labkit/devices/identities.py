"""Identities of devices: their validation (document 1, Resources: identity format), and ids that follow from names."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from labkit.settings import IdentityFormat

RESOURCES = 4096  # size of the cache of resource ids


@lru_cache(RESOURCES)
def resource_id(product: str, identity: str = "", alias: str = "") -> str:
    """Return the permanent id (rid) of a resource of a device.

    Without `alias` that of the device itself, without `identity` that of the product.
    """
    return f"{_resource_number(product, identity, alias):040x}"


def _resource_number(product: str, identity: str, alias: str) -> int:
    # Of the three only an identity may contain a slash, so different names never give the same text.
    digest = hashlib.sha1(f"{product}/{identity}/{alias}".encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest)


class ResourceIds:
    """Identities of a product's devices by the ids of the devices and of their resources.

    aliases: of the resources; complete: whether all devices have been added.
    """

    def __init__(self, product: str, aliases: tuple[str, ...]) -> None:
        self.aliases = aliases
        self.complete = False
        self._product = product
        # By the ids as numbers, which take half as much memory as texts.
        self._identities: dict[int, str] = {}

    def add(self, identity: str) -> None:
        """Add a device; no effect for one that is there."""
        own = _resource_number(self._product, identity, "")
        if own not in self._identities:
            self._identities[own] = identity
            for alias in self.aliases:
                self._identities[_resource_number(self._product, identity, alias)] = identity

    def remove(self, identity: str) -> None:
        """Remove a device; no effect for one that is not there."""
        for alias in ("", *self.aliases):
            self._identities.pop(_resource_number(self._product, identity, alias), None)

    def find(self, rid: str) -> tuple[str, str] | None:
        """Return identity and alias of the resource with this id, an empty alias for a device; None for no such id."""
        try:
            identity = self._identities.get(int(rid, 16))
        except ValueError:
            return None
        if identity is None:
            return None
        ids = ((alias, resource_id(self._product, identity, alias)) for alias in ("", *self.aliases))
        return next(((identity, alias) for alias, id in ids if id == rid), None)


LONGEST = 256

PATTERNS = {
    "base10": (re.compile(r"[0-9]+"), "decimal digits"),
    "base16": (re.compile(r"[0-9a-fA-F]+"), "hexadecimal digits"),
    "uuid": (re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"), "a UUID, 8-4-4-4-12"),
    "mac": (re.compile(r"[0-9a-fA-F]{2}([:-]?)[0-9a-fA-F]{2}(\1[0-9a-fA-F]{2}){4}"), "six hex pairs (a MAC)"),
    "mac:48": (re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"), "six hex pairs with colons (a MAC)"),
    "mac-48": (re.compile(r"[0-9a-fA-F]{2}(-[0-9a-fA-F]{2}){5}"), "six hex pairs with hyphens (a MAC)"),
    "mac.48": (
        re.compile(r"[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){2}"),
        "four hex digits three times, with dots (a MAC)",
    ),
    "uuidv4": (
        re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}"),
        "a UUID of version 4",
    ),
}


def identity_error(format: IdentityFormat, identity: str) -> str | None:
    """Return why `identity` violates a product's format; None for a valid one."""
    if not identity or len(identity) > LONGEST or not identity.isprintable():
        return f"an identity has 1 to {LONGEST} printable characters"
    if not identity.startswith(format.prefix):
        return f"an identity of this product starts with {format.prefix!r}"
    rest = identity.removeprefix(format.prefix)
    if format.type != "opaque":
        pattern, expected = PATTERNS[format.type]
        if not pattern.fullmatch(rest):
            return f"an identity of this product consists of {expected}"
    if format.casing == "upper" and rest != rest.upper():
        return "an identity of this product has no lower-case letters"
    if format.casing == "lower" and rest != rest.lower():
        return "an identity of this product has no upper-case letters"
    if format.length and len(rest) != format.length:
        return f"an identity of this product has {format.length} characters"
    return None
