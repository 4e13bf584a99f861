"""Code mutants of users and their data, for faults that no fault row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import change_arguments
from labkit.conformance.mutant import patch
from labkit.services.user.accounts import ACTIVE
from labkit.storage.database import execute

ACCOUNTS = "labkit.services.user.accounts"
NEXT = "SELECT coalesce(max(id), 0) + 1 FROM user WHERE solution = ?"

active_when_changed = patch("USR-DATA-2", f"{ACCOUNTS}:change", "every change of a user activates it")(
    change_arguments(status=ACTIVE)
)


@patch("USR-DATA-4", f"{ACCOUNTS}:next_id", alone=True)
def ids_again(original: Any, connection: Any, solution: str, kind: str) -> Any:
    """the id of a deleted user is reused"""
    if kind == "user":
        return execute(connection, NEXT, (solution,)).fetchone()[0]
    return original(connection, solution, kind)
