"""Faults of what a solution's folder describes, which no row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always
from labkit.conformance.mutant import patch

no_roles = patch("SOL-FORM-8", "labkit.solutions.folders.specs:roles", "roles.yaml has no effect")(always([]))
no_resources = patch(
    "SOL-FORM-8",
    "labkit.devices.products:PlatformProduct.adopt_resources",
    "specs/resources.yaml has no effect",
)(lambda original, self, resources: None)


@patch("SOL-FORM-8", "labkit.devices.products:PlatformProduct.adopt_resources")
def own_replaced(original: Any, self: Any, resources: Any) -> None:
    """a product with resources of its own gets those of a folder, too"""
    self.change(resources={**self.settings.model_dump()["resources"], **resources})
