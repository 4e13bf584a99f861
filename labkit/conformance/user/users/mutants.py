"""Faults of accounts that no row can say."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import afterwards
from labkit.conformance.mutant import mutant
from labkit.core.database import execute

ACCOUNTS = "labkit.services.user.accounts"


@mutant("USR-USER-1 USR-USER-17 USR-TOKEN-12 USR-GUIDE-7", f"{ACCOUNTS}:change")
def password_kept(original: Any) -> Any:
    """a new password is not stored"""
    return lambda *args, **changes: original(*args, **{**changes, "password": None})


@mutant("USR-USER-4 USR-TOKEN-1 USR-GUIDE-1", f"{ACCOUNTS}:add")
def active_at_once(original: Any) -> Any:
    """a user is active without activation"""
    return lambda *args, **given: original(*args, **{**given, "activation": None})


@mutant("USR-USER-9", f"{ACCOUNTS}:activate")
def all_active(original: Any) -> Any:
    """a code activates whoever waits for one"""
    update = "UPDATE user SET status = 1"
    return afterwards(original, lambda user, connection, *_: user and execute(connection, update))


@mutant("USR-USER-22 USR-GUIDE-34", "labkit.services.user.users.filters:folded")
def compared_as_written(original: Any) -> Any:
    """a filter compares addresses as they are written"""
    return lambda text: text
