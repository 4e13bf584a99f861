"""Selection of a product's devices by identity, status and tags, as terms of a query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from labkit.devices.tags import Tag

ANY = "*"
BEYOND = "\U0010ffff"  # not printable, so behind every text that begins an identity
SPECIAL = re.compile(r"[?\[]")  # of GLOB, beside `*`
STATUSES: Mapping[str, str] = MappingProxyType(
    {
        "locked": "locked",
        "provisioned": "NOT locked AND digest IS NOT NULL",
        "whitelisted": "NOT locked AND digest IS NULL",
    }
)
IN_SPAN = "WHERE product = ? AND identity >= ? AND identity < ?"
OF_TAG = "identity_tag AS tag CROSS JOIN device USING (product, identity)"
TAGGED = (
    "EXISTS (SELECT 1 FROM identity_tag AS t WHERE t.product = device.product AND t.identity = device.identity "
    "AND t.name = ?"
)


class DeviceSelection(NamedTuple):
    """Devices of a product that match all of what is given.

    pattern: of the identity, where `*` matches any characters; statuses: as of DeviceRecord, any without one; tags: a
    device has all of them, with any value where it is None.
    """

    pattern: str | None = None
    statuses: Sequence[str] = ()
    tags: Sequence[Tag] = ()

    @property
    def span(self) -> tuple[str, str]:
        """The range of identities that may match; its end is excluded."""
        first, star, _ = (ANY if self.pattern is None else self.pattern).partition(ANY)
        return first, first + (BEYOND if star else "\0")

    @property
    def _value(self) -> Tag | None:
        """The first tag with a value, whose devices an index gives in the order of their identities."""
        return next((each for each in self.tags if each.value is not None), None)

    def range(self, product: str, span: tuple[str, str]) -> tuple[str, list[object]]:
        """Return the tables and the condition of SQL for a range of a product's devices, and its values."""
        found: list[object] = [product, *span]
        if self._value is None:
            return f" FROM device {IN_SPAN}", found
        return f" FROM {OF_TAG} {IN_SPAN} AND tag.name = ? AND tag.value = ?", [*found, *self._value]

    def terms(self) -> tuple[str, list[object]]:
        """Return the further condition for devices of a range, empty if all match, and its values."""
        terms: list[str] = []
        values: list[object] = []
        if self.pattern is not None and ANY in self.pattern[:-1]:
            terms.append("identity GLOB ?")
            values.append(SPECIAL.sub(r"[\g<0>]", self.pattern))
        if self.statuses:
            terms.append(" OR ".join(f"({STATUSES[each]})" for each in self.statuses).join("()"))
        for name, value in self.tags:
            if (name, value) == self._value:
                continue
            terms.append(f"{TAGGED})" if value is None else f"{TAGGED} AND t.value = ?)")
            values += [name] if value is None else [name, value]
        return "".join(f" AND {each}" for each in terms), values
