"""Faults of POST /provision/activate that no row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always
from labkit.conformance.mutant import patch

FORGET = "labkit.devices.registry:Registry.forget"

remembered = patch(
    "DEV-PROV-12 DEV-PROV-15", FORGET, "the registry's cache keeps a device's former state and token"
)(always(None))


@patch("DEV-PROV-15 DEV-PROV-16", "labkit.devices.registry:Registry.provision")
async def old_ones_stay(original: Any, *device: Any) -> Any:
    """new credentials are accepted, but not stored; the old ones stay"""
    replacing = device[-1]
    return await original(*device) if replacing is None else "provisioned"


replaced_unseen = patch(
    "DEV-PROV-27",
    "labkit.devices.registry:RequestAuthorization.revoke",
    "a request whose credentials are replaced while it is being received is served",
)(always(None))
kept_after_hand_out = patch(
    "DEV-PROV-25",
    "labkit.devices.registry:Registry.forget",
    "credentials that a fleet has replaced stay valid",
    alone=True,
)(always(None))
