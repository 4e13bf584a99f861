"""Faults of the product that a solution's folder describes."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always
from labkit.conformance.mutant import patch

SETTINGS = "labkit.services.device2.product_file:ProductFile.settings"
PRODUCT = "labkit.devices.products:PlatformProduct"

no_resources = patch("SOL-PRODUCT-1", SETTINGS, "the resources of a file are ignored")(
    lambda original, self: {key: value for key, value in original(self).items() if key != "resources"}
)
no_wrong_file = patch(
    "SOL-PRODUCT-3", "labkit.services.operation:Service.check", "wrong parameters are accepted"
)(always(None))
no_initial = patch("SOL-PRODUCT-4", f"{PRODUCT}.with_initial", "devices do not read initial values")(
    lambda original, self, aliases, found: found
)
from_anywhere = patch("SOL-PRODUCT-5", f"{PRODUCT}.provisions", "devices provision from any address")(
    always(True)
)
unused_untold = patch(
    "SOL-PRODUCT-7", "labkit.solutions.folders.configuration:of_keys", "keys without an effect are not named"
)(always(()))


@patch("SOL-PRODUCT-2", f"{PRODUCT}.adopt")
def own_replaced(original: Any, self: Any, solution: str, settings: Any) -> None:
    """what a file says replaces what the product's own settings say"""
    if settings:
        self.change(**settings)


@patch("SOL-PRODUCT-5", SETTINGS)
def any_format(original: Any, self: Any) -> Any:
    """the letter case of identities is ignored"""
    found = original(self)
    if "identity_format" in found:
        found["identity_format"]["casing"] = "mixed"
    return found


@patch("SOL-PRODUCT-6", "labkit.solutions.solutions:Solutions.recover")
async def lost_at_restart(original: Any, self: Any) -> None:
    """after a power cut, products have their own settings alone"""
    await original(self)
    for product in self._context.products:
        product.adopt(product.id, None)
