"""Faults of what is kept with users that no row can say."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.services.user.accounts import ACTIVE

ACCOUNTS = "labkit.services.user.accounts"


@mutant("USR-DATA-2", f"{ACCOUNTS}:change")
def active_when_changed(original: Any) -> Any:
    """whatever changes, the user is active"""
    return lambda *args, **changes: original(*args, **{**changes, "status": ACTIVE})


@mutant("USR-DATA-4", f"{ACCOUNTS}:next_id")
def ids_again(original: Any) -> Any:
    """the id of a deleted user comes again"""
    query = "SELECT coalesce(max(id), 0) + 1 FROM user WHERE solution = ?"
    return lambda connection, solution, kind: (
        execute(connection, query, (solution,)).fetchone()[0]
        if kind == "user"
        else original(connection, solution, kind)
    )
