"""Faults of what is kept with users, and of operations that the document does not show."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.services.user.accounts import ACTIVE

ACCOUNTS = "labkit.services.user.accounts"
USERS = "labkit.services.user.users.operations"
DATA = "labkit.services.user.users.data"


@mutant("USR-DATA-2", f"{ACCOUNTS}:change")
def active_when_changed(original: Any) -> Any:
    """whatever changes, the user is active"""
    return lambda *args, **changes: original(*args, **{**changes, "status": ACTIVE})


@mutant("USR-DATA-3", f"{USERS}:Users.proved")
def not_proved(original: Any) -> Any:
    """a new password does not need the original one"""

    async def broken(*args: Any) -> None:
        return None

    return broken


@mutant("USR-DATA-4", f"{ACCOUNTS}:next_id")
def ids_again(original: Any) -> Any:
    """the id of a deleted user comes again"""

    def broken(connection: Any, solution: str, kind: str) -> int:
        if kind != "user":
            return int(original(connection, solution, kind))
        found = execute(connection, "SELECT max(id) FROM user WHERE solution = ?", (solution,)).fetchone()
        return (found[0] or 0) + 1

    return broken


@mutant("USR-DATA-6", f"{DATA}:create")
def create_replaces(original: Any) -> Any:
    """createUserData replaces what exists"""

    def broken(connection: Any, solution: str, id: int, values: dict[str, str]) -> None:
        for key, value in values.items():
            execute(
                connection,
                "INSERT OR REPLACE INTO user_data (solution, user_id, key, value) VALUES (?, ?, ?, ?)",
                (solution, id, key, value),
            )

    return broken


@mutant("USR-DATA-9 USR-DATA-7", f"{DATA}:meet")
def missing_ignored(original: Any) -> Any:
    """keys that are missing are ignored"""

    def broken(connection: Any, id: int, statements: Any, status: int) -> None:
        for each in statements.values():
            connection.execute(each)

    return broken
