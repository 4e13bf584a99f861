"""Model check of users: sign-up, activation, logins, lists, passwords and data, in two solutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "USR-USER-1 USR-USER-3 USR-USER-4 USR-USER-6 USR-USER-7 USR-USER-8 USR-USER-9 USR-USER-10 USR-USER-11 "
    "USR-USER-12 USR-USER-13 USR-USER-14 USR-USER-15 USR-USER-16 USR-USER-17 USR-USER-18 USR-USER-21 USR-USER-22 "
    "USR-TOKEN-1 USR-TOKEN-2 USR-TOKEN-3 USR-TOKEN-4 USR-TOKEN-6 USR-TOKEN-7 USR-TOKEN-8 USR-TOKEN-10 USR-TOKEN-14 "
    "USR-TOKEN-11 USR-DATA-1 USR-DATA-2 USR-DATA-3 USR-DATA-4 USR-DATA-5 USR-DATA-6 USR-DATA-7 USR-DATA-8 "
    "USR-DATA-9 USR-CALL-9 USR-CALL-12",
    "users of two solutions who sign up, log in, change and go in any order, as a model has them",
)
def model() -> type[Game]:
    """Return the game of users."""
    from labkit.conformance.user.users.users import Users

    return Users
