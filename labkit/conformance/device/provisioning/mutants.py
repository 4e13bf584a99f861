"""Faults of POST /provision/activate."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant

PROVISION = "labkit.devices.registry:Registry.provision"


# ---- the answer, and the token in it


# ---- who may


@mutant("DEV-PROV-12", "labkit.devices.registry:Registry.forget")
def remembered(original: Any) -> Any:
    """a device that is whitelisted is known as it was before"""
    return lambda registry, product, identity: None


@mutant("DEV-PROV-15 DEV-PROV-16", PROVISION)
def old_ones_stay(original: Any) -> Any:
    """new credentials are taken and forgotten; the old ones stay"""

    async def broken(registry: Any, product: str, identity: str, *args: Any) -> Any:
        if args[-1] is not None:  # the credential that is to be replaced
            return "provisioned"
        return await original(registry, product, identity, *args)

    return broken


@mutant("DEV-PROV-15", "labkit.devices.registry:Registry.forget")
def old_token_remembered(original: Any) -> Any:
    """a token that was used before is good for ever"""
    return lambda registry, product, identity: None
