"""Device2's description of a product itself: its resources, and how its devices connect."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from labkit.settings.products import NumberRange, ProductSettings, Resource

PROTOCOL = "onep:v1/http"  # the HTTPS API of document 1
# Formats of the service, where they differ from those of the settings.
FORMATS: Mapping[str, str] = MappingProxyType({"integer": "number", "float": "number"})


def shown_resource(resource: Resource) -> dict[str, object]:
    """Return a resource as scripts receive it: format, unit, settable and allowed."""
    allowed = [
        {"min": each.min, "max": each.max} if isinstance(each, NumberRange) else each
        for each in resource.allowed
    ]
    return {
        "format": FORMATS.get(resource.format, resource.format),
        "unit": resource.unit,
        "settable": resource.settable,
        "allowed": allowed,
    }


def shown_settings(settings: ProductSettings) -> dict[str, object]:
    """Return how devices connect to a product: protocol and provisioning."""
    return {
        "protocol": {"name": PROTOCOL, "devmode": False},
        "provisioning": {"enabled": settings.provisioning},
    }
