"""Code mutants of accounts, for faults that no fault row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always, call_after, change_arguments, change_result
from labkit.conformance.mutant import patch
from labkit.storage.database import execute

ACCOUNTS = "labkit.services.user.accounts"
ALL_ACTIVE = "UPDATE user SET status = 1"
FOLDED = "UPDATE user SET folded = ? WHERE solution = ? AND id = ?"

password_kept = patch(
    "USR-USER-1 USR-USER-17 USR-TOKEN-12 USR-GUIDE-7", f"{ACCOUNTS}:change", "a new password is not stored"
)(change_arguments(password=None))
active_at_once = patch(
    "USR-USER-4 USR-TOKEN-1 USR-GUIDE-1", f"{ACCOUNTS}:add", "a user is active without activation"
)(change_arguments(activation=None))
all_active = patch("USR-USER-9", f"{ACCOUNTS}:activate", "a code activates all users")(
    call_after(lambda user, connection, *_: user and execute(connection, ALL_ACTIVE))
)
folded_by_half = patch(
    "USR-USER-8 USR-TOKEN-4",
    f"{ACCOUNTS}:add",
    "addresses are stored in lower case but looked up in case-folded form",
)(
    call_after(
        lambda user, connection, solution, *_: execute(
            connection, FOLDED, (user.email.lower(), solution, user.id)
        )
    )
)
compared_as_written = patch(
    "USR-USER-22 USR-GUIDE-34",
    "labkit.services.user.users.filters:folded",
    "a filter compares addresses without folding",
)(lambda original, text: text)


@patch("USR-TOKEN-12", "labkit.services.user.passwords:PasswordVerifier.verify")
async def longer_passwords(original: Any, self: Any, kept: Any, password: str) -> bool:
    """a password with one more character is accepted too"""
    return bool(await original(self, kept, password) or await original(self, kept, password[:-1]))


@patch("USR-OAUTH-16", "labkit.services.user.oauth.codes:check")
def redirect_begins_alike(original: Any, client: Any, given: Any) -> None:
    """a redirect is accepted if it begins with one of the client's"""
    known = [each for each in client.redirects if given.redirect_uri.startswith(each)] if client else []
    original(client, given._replace(redirect_uri=known[0]) if known else given)


@patch("USR-ASSIGN-17", "labkit.services.user.roles.assignments:has_role")
def value_begins_alike(original: Any, connection: Any, *of: Any) -> bool:
    """hasUserRoleParam accepts a value with one more character"""
    return bool(original(connection, *of) or (of[-1][1:] and original(connection, *of[:-1], of[-1][:-1])))


total_of_page = patch(
    "USR-USER-23", "labkit.services.user.users.filters:count_users", "total counts the page of users"
)(always(1))
always_pages = patch(
    "USR-USER-23", "labkit.settings.lab:LabSettings.wire_behaviour", "a page of users is a table in every lab"
)(change_result(lambda wire: wire.model_copy(update={"user_pages": True})))
