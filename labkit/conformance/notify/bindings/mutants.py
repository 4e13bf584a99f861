"""Faults of bindings that no row can say."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.providers.messaging.bindings import fetch

DELETE = "labkit.providers.messaging.bindings:delete"


@mutant("NTF-BIND-10", "labkit.providers.messaging.resources:iso")
def seconds_lost(original: Any) -> Any:
    """dates are those of the full minute"""
    return lambda second: original(second // 60 * 60)


@mutant("NTF-BIND-18", DELETE)
def kept(original: Any) -> Any:
    """what is deleted is still there"""
    return lambda *named: fetch(*named) is not None


@mutant("NTF-BIND-18", DELETE)
def identity_deleted(original: Any) -> Any:
    """with a binding all of its identity go"""
    delete = "DELETE FROM messaging_binding WHERE identity = ?"
    return lambda connection, *named: (
        (found := fetch(connection, *named)) is not None
        and bool(execute(connection, delete, (found.identity,)))
    )
