"""Faults of what a device sends to POST /provision/activate: passwords and identities."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.settings import IdentityFormat

IDENTITY_ERROR = "labkit.devices.identities:identity_error"


# ---- passwords


# ---- identities


@mutant("DEV-PROV-9", IDENTITY_ERROR)
def any_case(original: Any) -> Any:
    """the casing of an identity does not matter"""
    return lambda rules, identity: original(rules.model_copy(update={"casing": "mixed"}), identity)


@mutant("DEV-PROV-9", IDENTITY_ERROR)
def no_prefix(original: Any) -> Any:
    """the prefix of an identity may be missing"""

    def broken(rules: IdentityFormat, identity: str) -> str | None:
        problem: str | None = original(rules, rules.prefix + identity.removeprefix(rules.prefix))
        return problem

    return broken


@mutant("DEV-PROV-9", IDENTITY_ERROR)
def half_as_long(original: Any) -> Any:
    """an opaque identity has 128 characters at most"""
    return lambda rules, identity: "too long" if len(identity) > 128 else original(rules, identity)
