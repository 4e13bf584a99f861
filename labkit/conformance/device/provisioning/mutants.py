"""Faults of POST /provision/activate that no row can say."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always, given
from labkit.conformance.mutant import instead, patch

FORGET = "labkit.devices.registry:Registry.forget"
IDENTITY_ERROR = "labkit.devices.identities:identity_error"

any_case = patch(
    "DEV-PROV-9",
    IDENTITY_ERROR,
    "the casing of an identity does not matter",
    given(format=lambda rules: rules.model_copy(update={"casing": "mixed"})),
)
no_prefix = patch(
    "DEV-PROV-9",
    IDENTITY_ERROR,
    "the prefix of an identity may be missing",
    lambda original, rules, name: original(rules, rules.prefix + name.removeprefix(rules.prefix)),
)
half_as_long = patch(
    "DEV-PROV-9",
    IDENTITY_ERROR,
    "an opaque identity has 128 characters at most",
    lambda original, rules, name: "too long" if len(name) > 128 else original(rules, name),
)
remembered = patch(
    "DEV-PROV-12 DEV-PROV-15", FORGET, "a device is known as it was before, and its old token", always(None)
)


@instead("DEV-PROV-15 DEV-PROV-16", "labkit.devices.registry:Registry.provision")
async def old_ones_stay(original: Any, *device: Any) -> Any:
    """new credentials are taken and forgotten; the old ones stay"""
    replacing = device[-1]
    return await original(*device) if replacing is None else "provisioned"
